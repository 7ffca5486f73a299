package deploy

import (
	"context"
	"errors"
	"slices"
)

// Interruption is what happened to the deployments of an interrupted apply. Each deployment is in
// one list, sorted.
type Interruption struct {
	// Finished were written, and Removed were uninstalled.
	Finished, Removed []Key
	// TakenBack were started and are as they were before the apply.
	TakenBack []Key
	// Unfinished were started and failed, or were stopped before their end.
	Unfinished []Key
	// NotStarted are as they were before the apply.
	NotStarted []Key
}

// IsComplete reports whether everything was finished in spite of the interruption.
func (i *Interruption) IsComplete() bool {
	return len(i.TakenBack)+len(i.Unfinished)+len(i.NotStarted) == 0
}

// Explains reports whether the interruption is the only cause of a failure.
func (i *Interruption) Explains(failure Failure) bool {
	return i != nil && errors.Is(failure.Err, context.Canceled) &&
		slices.Contains(i.NotStarted, Key{Cluster: failure.Cluster, Bundle: failure.Bundle})
}
