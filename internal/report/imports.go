package report

import (
	"fmt"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

// ImportUnknown reports the values that must be known before a target can be imported.
func ImportUnknown(name string, unknown []string) []Message {
	return failureIf(len(unknown) > 0, "Cannot import target "+name+" yet",
		"Not known yet: "+strings.Join(unknown, ", ")+". The import would miss releases there. Import the target when everything is known.")
}

// ImportFailures reports clusters that cannot be read. Nothing is imported then.
func ImportFailures(name string, failures []deploy.Failure) []Message {
	var messages []Message
	for _, cause := range deploy.GroupByCause(failures) {
		unseen := cause.Keys()
		messages = append(messages, failure(fmt.Sprintf("Target %s: cannot read %s", name, deploy.SummaryOf(unseen)),
			"Clusters: "+deploy.ListOf(unseen)+"\n\nCause: "+cause.Text+"\n\nNothing was imported, because the target's releases on these clusters would be in no state. "+
				"An id such as "+name+"/cluster-1,cluster-2 imports from these clusters only. "+advice(cause.Failures[0].Err, unseen))...)
	}
	return messages
}

// NothingToImport reports that a target has no release on the clusters to import from, nil for all of the
// provider. fromFleet is true if a Fleet delivers.
func NothingToImport(name, owner string, only []string, fromFleet bool) []Message {
	where := "on any cluster of the provider"
	switch {
	case len(only) > 0:
		where = "on " + strings.Join(only, ", ")
	case fromFleet:
		where = "in the Fleet of the provider"
	}
	return failure("There is no target "+name+" to import",
		fmt.Sprintf("No release %s has the owner %q and the target name %q. Create the target instead.", where, owner, name))
}

// Imported reports the imported releases, because another state may still contain them. others
// are the deployments of another instance than most.
func Imported(name string, all, others []string) []Message {
	detail := "These releases have the owner and the name of this target: " + strings.Join(all, ", ") +
		".\n\nIf another state still contains them, remove the target from that state with a removed block or terraform state rm. Destroying it there would uninstall these releases." +
		"\n\nUntil an apply has written a release, hooks in its record are not run, and no rollback uses the record."
	if len(others) > 0 {
		detail += "\n\nSeveral targets of this name created these releases. These belong to another target than the rest: " + strings.Join(others, ", ") + "."
	}
	return warning("Target "+name+": "+fmt.Sprint(len(all))+" releases are imported", detail)
}

// NotImportable reports that a resource that exists only in a state cannot be imported.
func NotImportable(kind, id string) []Message {
	return failure("There is nothing to import for "+kind+" "+id,
		"It only builds bundles and exists only in the state. Omit the import: creating the resource changes no cluster.")
}
