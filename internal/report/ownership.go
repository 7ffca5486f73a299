package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Replaced reports the releases that the Delete of a replaced target leaves.
func Replaced(name string, kept int) []Message {
	if kept == 0 {
		return nil
	}
	return warning(fmt.Sprintf("Target %s is replaced: %d releases stay for its replacement", name, kept),
		"They are adopted when it is created. If it cannot be created, import the target by its name: until then no state knows these releases.")
}

// Orphans reports the releases that the state does not know and that the target does not
// want.
func Orphans(name string, orphans []deploy.Orphan, wanted []target.Deployment) []Message {
	var lines []string
	for _, orphan := range deploy.UnwantedOrphans(orphans, wanted) {
		objects := strings.Join(orphan.Objects, ", ")
		if objects == "" {
			objects = "its record cannot be read"
		}
		lines = append(lines, fmt.Sprintf("%s: release %s in namespace %s (%s)", orphan.Cluster, orphan.Release, orphan.Namespace, objects))
	}
	if len(lines) == 0 {
		return nil
	}
	slices.Sort(lines)
	return warning("Target "+name+": releases with its id are not in its state",
		listOf(lines)+"\n\nAn apply that was killed can have made them, or somebody who may create Secrets there. They are not removed: "+
			"only releases in the state are. Remove one with `helm uninstall RELEASE --namespace NAMESPACE` on its cluster, "+
			"or deploy its bundle with this target once more and then take the bundle out.")
}

// Ownership reports what an apply takes over from others, and what it will be refused.
// undecided says that take_ownership is not known yet.
func Ownership(name string, undecided bool, found deploy.OwnershipReport) []Message {
	refused, next := "will be refused", "Set take_ownership = true to take them over, or choose other names."
	if undecided {
		refused, next = "may be refused", "Unless take_ownership, which is not known yet, turns out to be true: then they are taken over."
	}
	var messages []Message
	add := func(lines []string, summary, end string) {
		if len(lines) > 0 {
			messages = append(messages, warning("Target "+name+": "+summary, listOf(lines)+"\n\n"+end)...)
		}
	}
	add(found.Taken, "takes over what belongs to others",
		"Ownership is asked for. The history of a release is kept, and no object is changed that is as wanted.")
	add(found.Adopted, "takes up releases with its adoption key",
		"They belong to this target, before it was replaced or its state was lost, or to another target with the same adoption_key. Their history is kept.")
	add(found.Existing, "releases of its owner and name are there already",
		"This state does not know them, so the create will stop before its first write. "+importAdvice(name)+
			"\n\nIf this plan replaces the target with create_before_destroy, set adoption_key first.")
	add(found.Moved, "releases are uninstalled by other targets and installed again",
		"They belong to other targets of this owner. If those still want them, these deployments will fail. "+
			"To move a release without a reinstall, give both targets the same adoption_key, and name this target in depends_on of the other one.")
	add(found.Refused, refused+" what belongs to others",
		"These deployments will fail, and what is there stays as it is. "+next)
	add(found.Agents, "Fleet's agent still runs where releases are taken from it",
		"It puts back what its bundles say. Take the clusters out of those bundles first, with keepResources = true, so that it leaves the objects where they are.")
	return messages
}

// importAdvice says how a target takes up releases that no state knows.
func importAdvice(name string) string {
	return fmt.Sprintf("To take them up, import the target, and plan again:\n\n"+
		"  import {\n    to = fleet_cluster_target.%s # the address of this resource\n    id = %q\n  }\n\n"+
		"The id can name the clusters to look at, such as %q. Or set take_ownership = true on the target. "+
		"If another state has the target, give the provider another owner here, or the target another name.", strings.ReplaceAll(name, ".", "_"), name, name+"/cluster-1,cluster-2")
}

// existingShown is how many releases are listed that keep a target from being created.
const existingShown = 20

// Existing reports releases that keep a target from being created.
func Existing(name string, existing []deploy.Existing) []Message {
	var lines []string
	for _, found := range existing[:min(len(existing), existingShown)] {
		lines = append(lines, fmt.Sprintf("%s: release %s in namespace %s, revision %d", found.Cluster, found.Observed.Release, found.Observed.Namespace, found.Observed.Revision))
	}
	if more := len(existing) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return failure(fmt.Sprintf("Target %s: cannot create it, %d releases of its owner and name are there already", name, len(existing)),
		listOf(lines)+"\n\nThis state does not know them. "+notBegun+" "+importAdvice(name))
}

// SameName reports two targets of one name.
func SameName(name string) []Message {
	return failure("Two targets are called "+name,
		"A target is known by its name and the provider's owner: two of one name would take each other's releases. Give one of them another name."+
			"\n\n"+notBegun)
}

// Conflicts reports what another target of the plan wants as well: two targets would take
// one release from each other with every apply.
func Conflicts(name string, conflicts []deploy.Conflict) []Message {
	others := map[string][]string{}
	for _, found := range conflicts {
		line := fmt.Sprintf("%s: release %s", found.Ours, found.Release)
		if found.Ours != found.Theirs {
			line += ", which is " + found.Theirs + " there"
		}
		others[found.Target] = append(others[found.Target], line)
	}
	var messages []Message
	for _, other := range slices.Sorted(maps.Keys(others)) {
		messages = append(messages, failure(fmt.Sprintf("Targets %s and %s want the same releases", other, name),
			listOf(others[other])+"\n\nA release has one owner. Take the bundle or the cluster out of one of the targets, or give the releases different names."+
				"\n\n"+notBegun)...)
	}
	return messages
}
