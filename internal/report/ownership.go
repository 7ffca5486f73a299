package report

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/preview"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Replaced reports the releases that the Delete of a replaced target keeps.
func Replaced(name string, kept int) []Message {
	return warningIf(kept > 0, fmt.Sprintf("Target %s is replaced: its replacement keeps %d releases", name, kept),
		"The new target adopts them when it is created. If the create fails, import the target by its name. Until then these releases are in no state.")
}

// Orphans reports releases that the state does not contain and the target does not want.
func Orphans(name string, orphans []deploy.Orphan, wanted []target.Deployment) []Message {
	var lines []string
	for _, orphan := range unwantedOrphans(orphans, wanted) {
		objects := strings.Join(orphan.Objects, ", ")
		if objects == "" {
			objects = "its record cannot be read"
		}
		lines = append(lines, fmt.Sprintf("%s: release %s in namespace %s (%s)", orphan.Cluster, orphan.Release, orphan.Namespace, objects))
	}
	slices.Sort(lines)
	return warningIf(len(lines) > 0, "Target "+name+": releases with its id are not in its state",
		listOf(lines)+"\n\nA killed apply can have created them, or any user who may create Secrets there. They are not removed: "+
			"an apply removes only releases in the state. Remove one with `helm uninstall RELEASE --namespace NAMESPACE` on its cluster, "+
			"or deploy its bundle with this target again and then remove the bundle.")
}

// unwantedOrphans returns the orphans that no deployment is to have. The apply adopts the wanted
// ones.
func unwantedOrphans(orphans []deploy.Orphan, wanted []target.Deployment) []deploy.Orphan {
	isWanted := map[string]bool{}
	for _, d := range wanted {
		isWanted[d.Cluster+" "+release.Key(d.Namespace, d.Release)] = true
	}
	return slices.DeleteFunc(slices.Clone(orphans), func(o deploy.Orphan) bool {
		return isWanted[o.Cluster+" "+release.Key(o.Namespace, o.Release)]
	})
}

// Ownership reports which releases and objects an apply takes over from others, and which it
// cannot take over. undecided is true if take_ownership or take_ownership_of is not known yet.
func Ownership(name string, undecided bool, found preview.OwnershipReport) []Message {
	refused, next := "cannot take over", "To take them over, set "+consentFor(found.RefusedOf)+" on the target. Or choose other names."
	if undecided {
		refused, next = "may be unable to take over", "The value of take_ownership or take_ownership_of is not known yet. With consent, the apply takes them over instead."
	}
	messages := unlisted(name, found.Denied)
	add := func(lines []string, summary, end string) {
		messages = append(messages, warningIf(len(lines) > 0, "Target "+name+": "+summary, listOf(lines)+"\n\n"+end)...)
	}
	add(found.Taken, "takes over releases or objects of other owners",
		"The configuration requests this. Releases keep their history, and objects that are already as wanted are not changed.")
	add(found.Adopted, "adopts releases with its adoption key",
		"This target had them before it was replaced or its state was lost, or another target with the same adoption_key has them. Their history is kept.")
	add(found.Existing, "releases of its owner and name already exist",
		ifRenamed+" Otherwise this state does not contain them, and the create will stop before its first write. "+importAdvice(name)+
			"\n\nIf this plan replaces the target with create_before_destroy, set adoption_key first.")
	add(found.Moved, "releases are uninstalled by other targets and installed again",
		"They belong to other targets of this owner. If those targets still want them, these deployments will fail. "+
			"To move a release without a reinstall, give both targets the same adoption_key, and name this target in depends_on of the other target.")
	add(found.Refused, refused+" releases or objects of other owners",
		"These deployments will fail, and existing objects stay as they are. "+next)
	add(found.Agents, "Fleet's agent still runs on clusters where its releases are taken over",
		"The agent restores the objects of its bundles. First exclude the clusters from those bundles, with keepResources = true, so that the agent does not delete the objects.")
	return messages
}

// unlisted reports clusters that refuse to list their releases.
func unlisted(name string, denied []deploy.Failure) []Message {
	if len(denied) == 0 {
		return nil
	}
	next := "Check the credentials of the cluster, and the permissions of its user."
	if unlistable, ok := errors.AsType[*release.ListDeniedError](denied[0].Err); ok {
		next = listingRights(unlistable)
	}
	return warning("Target "+name+": cannot list releases on "+deploy.SummaryOf(deploy.KeysOf(denied)),
		causeLines(denied)+"\nIt is not known which releases and objects exist there, and who owns them. "+
			"The plan shows the deployments there as new. The apply lists the releases first, and fails there if it may not.\n\n"+next)
}

// ifRenamed is for a target that is created or destroyed: at a new address, Terraform does both.
const ifRenamed = "If you renamed the resource, add a moved block."

// importAdvice returns how a target adopts releases that no state contains.
func importAdvice(name string) string {
	return fmt.Sprintf("To adopt them, import the target and plan again:\n\n"+
		"  import {\n    to = fleet_cluster_target.%s # the address of this resource\n    id = %q\n  }\n\n"+
		"The id can name the clusters to read, such as %q. Or set take_ownership = true on the target. "+
		"If another state contains the target, change the provider's owner or the target's name here.", strings.ReplaceAll(name, ".", "_"), name, name+"/cluster-1,cluster-2")
}

// existingShown is the maximum number of releases in the message of Existing.
const existingShown = 20

// Existing reports releases that prevent the creation of a target.
func Existing(name string, existing []deploy.Existing) []Message {
	var lines []string
	for _, found := range existing[:min(len(existing), existingShown)] {
		lines = append(lines, fmt.Sprintf("%s: release %s in namespace %s, revision %d", found.Cluster, found.Observed.Release, found.Observed.Namespace, found.Observed.Revision))
	}
	if more := len(existing) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return failure(fmt.Sprintf("Target %s: cannot create it, %d releases of its owner and name already exist", name, len(existing)),
		listOf(lines)+"\n\n"+ifRenamed+" Otherwise this state does not contain them. "+notBegun+" "+importAdvice(name))
}

// SameName reports two targets with one name.
func SameName(name string) []Message {
	return failure("Two targets have the name "+name,
		"Its name and the provider's owner identify a target. Two targets of one name would take over each other's releases. Rename one of them."+
			"\n\n"+notBegun)
}

// Conflicts reports releases that another target of the plan wants as well. With every apply,
// each target would take them from the other.
func Conflicts(name string, conflicts []plan.Conflict) []Message {
	others := map[string][]string{}
	for _, found := range conflicts {
		line := fmt.Sprintf("%s: release %s", found.Ours, found.Release)
		if found.Ours != found.Theirs {
			line += ", which is " + found.Theirs + " in the other target"
		}
		others[found.Target] = append(others[found.Target], line)
	}
	var messages []Message
	for _, other := range slices.Sorted(maps.Keys(others)) {
		messages = append(messages, failure(fmt.Sprintf("Targets %s and %s want the same releases", other, name),
			listOf(others[other])+"\n\nA release has one owner. Remove the bundle or the cluster from one of the targets, or give the releases different names."+
				"\n\n"+notBegun)...)
	}
	return messages
}
