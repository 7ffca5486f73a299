package report

import (
	"fmt"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

// ImportUnknown reports what has to be known before a target is imported.
func ImportUnknown(name string, unknown []string) []Message {
	if len(unknown) == 0 {
		return nil
	}
	return failure("Cannot import target "+name+" yet",
		"Not known yet: "+strings.Join(unknown, ", ")+". What is there would be missed. Import it when everything is known.")
}

// ImportFailures reports clusters that cannot be asked. Nothing is imported then.
func ImportFailures(name string, failures []deploy.Failure) []Message {
	var messages []Message
	for _, cause := range deploy.GroupByCause(failures) {
		unseen := cause.Keys()
		messages = append(messages, failure(fmt.Sprintf("Target %s: cannot look at %s", name, deploy.SummaryOf(unseen)),
			"Clusters: "+deploy.ListOf(unseen)+"\n\nCause: "+cause.Text+"\n\nNothing was imported: what the target has there would be in no state. "+
				"An id such as "+name+"/cluster-1,cluster-2 imports from these clusters alone. "+advice(cause.Failures[0].Err))...)
	}
	return messages
}

// NothingToImport reports that no cluster has a release of a target.
func NothingToImport(name, owner string, clusters []string) []Message {
	return failure("There is no target "+name+" to import",
		fmt.Sprintf("No release on any of the clusters %s carries the owner %q and the target name %q. Create the target instead.",
			strings.Join(clusters, ", "), owner, name))
}

// Imported reports what is imported, as it may still be in another state. others are the
// deployments of another instance than most.
func Imported(name string, all, others []string) []Message {
	detail := "They carry the owner and the name of this target: " + strings.Join(all, ", ") +
		".\n\nIf another state still has them, take the target out of it with a removed block or terraform state rm. Destroyed there, it would take these releases along." +
		"\n\nHooks in their records are not run, and no rollback uses them, until an apply has written the release."
	if len(others) > 0 {
		detail += "\n\nSeveral targets of this name made them. These are of another one than the rest: " + strings.Join(others, ", ") + "."
	}
	return warning("Target "+name+": "+fmt.Sprint(len(all))+" releases are imported", detail)
}

// NotImportable reports that a resource which exists in a state only cannot be imported.
func NotImportable(kind, id string) []Message {
	return failure("There is nothing to import for "+kind+" "+id,
		"It makes bundles and exists nowhere but in the state. Leave the import out: creating it touches no cluster.")
}
