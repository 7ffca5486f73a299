package report

import (
	"errors"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
)

// UnreadableRecords reports elements of records of a target that cannot be read, so that nothing is known
// of these releases.
func UnreadableRecords(target string, names []string) []Message {
	return failureIf(len(names) > 0, "Target "+target+": cannot read its state",
		"These elements of records cannot be read: "+listOf(names)+"\n\n"+notBegun+" Restore the state from a backup, or use the version of the provider that wrote it.")
}

// UnreadablePrivateState reports a private state that cannot be read.
func UnreadablePrivateState(err error) []Message {
	if err == nil {
		return nil
	}
	next := "Restore the state from a backup, or remove the target from the state with `terraform state rm` and import it by its name."
	if _, isNewer := errors.AsType[*state.NewerError](err); isNewer {
		next = "Use the version of the provider that wrote it, or a newer one."
	}
	return failure("Cannot read the private state of the target", Sentence(err)+"\n\n"+notBegun+" "+next)
}
