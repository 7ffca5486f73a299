package report

import (
	"errors"
	"fmt"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/window"
)

// InvalidWindow reports an error in a window of the configuration.
func InvalidWindow(name string, err error) []Message {
	if err == nil {
		return nil
	}
	at := []any{"windows", MapKey(name)}
	if wrong, ok := errors.AsType[*window.InvalidError](err); ok {
		if wrong.Attribute != "" {
			at = append(at, wrong.Attribute)
		}
		if err = wrong.Err; wrong.Attribute != "" {
			err = fmt.Errorf("%s: %w", wrong.Attribute, wrong.Err)
		}
	}
	return failureAt(at, "Invalid change window "+name, Sentence(err))
}

// InvalidSchedule reports an error in an element of schedules.
func InvalidSchedule(index int, err error) []Message {
	if err == nil {
		return nil
	}
	return failureAt([]any{"fleet_schedules", index}, "Invalid schedule", Sentence(err))
}

// UnusableWindow reports a window whose clusters cannot be selected.
func UnusableWindow(err error) []Message {
	if err == nil {
		return nil
	}
	return failure("Cannot select the clusters of a change window", Sentence(err)+"\n\n"+notBegun+" Correct the provider's windows.")
}

// WindowsWithEngine reports an attribute about windows that is not supported with an engine.
func WindowsWithEngine(attribute, reason string) []Message {
	return failureAt([]any{attribute}, attribute+" is not supported with an engine", reason)
}

// WindowsOverridden reports the changes that change windows would have held.
func WindowsOverridden(name, reason string, held []deploy.Failure) []Message {
	return warningIf(len(held) > 0, "Target "+name+": windows_override permits what change windows hold",
		heldLines(held)+"\nThe reason is: "+reason+". It becomes part of the description of each revision that is written.")
}

// DestroyHeld reports that change windows hold removals of a target that is to be destroyed.
func DestroyHeld(name string, held []deploy.Failure) []Message {
	return failureIf(len(held) > 0, "Target "+name+": change windows hold its removal",
		heldLines(held)+"\nNothing was removed. Destroy the target when its windows allow it, or set windows_override on the provider.")
}

// heldLines returns one line for each reason why deployments are held: first changes, then
// removals.
func heldLines(held []deploy.Failure) string {
	var changes, removals []deploy.Failure
	for _, f := range held {
		if f.IsRemoval() {
			removals = append(removals, f)
			continue
		}
		changes = append(changes, f)
	}
	lines := causeLines(changes)
	if len(removals) > 0 {
		lines += "Not removed:\n" + causeLines(removals)
	}
	return lines
}
