package report

import (
	"errors"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
)

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
