package deploy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/window"
)

// Windows decide whether deployments may change at a given time.
type Windows interface {
	// Closed returns why a deployment must not change, nil if it may. onlyDrift reports that the
	// change only corrects drift.
	Closed(cluster string, bundle window.Bundle, onlyDrift bool) error
}

const removing = "removing"

// windowBundle returns a bundle in the form that windows use. The labels of a bundle that is no
// longer wanted are not known.
func (d Desired) windowBundle(name string) window.Bundle {
	for _, wanted := range d.Deployments {
		if wanted.Bundle.Name == name {
			return windowBundleOf(wanted)
		}
	}
	return window.Bundle{Name: name}
}

func windowBundleOf(d target.Deployment) window.Bundle {
	known := window.Bundle{Name: d.Bundle.Name, Labels: d.Bundle.Definition.Labels}
	if known.Labels == nil {
		known.Labels = map[string]string{}
	}
	return known
}

// heldWrite returns why a change of a deployment is held by a window, nil if it is not.
func (d Desired) heldWrite(of target.Deployment, prior map[Key]Record) error {
	if d.Windows == nil {
		return nil
	}
	return heldBy(d.Windows.Closed(of.Cluster, windowBundleOf(of), isDriftOnly(of, prior)))
}

// heldBy returns the error of a window as the error of a held deployment.
func heldBy(closed error) error {
	if closed == nil {
		return nil
	}
	return &rollout.HeldError{Reason: closed.Error()}
}

// isDriftOnly reports whether a deployment is written only because objects on the cluster differ.
func isDriftOnly(d target.Deployment, prior map[Key]Record) bool {
	facts := factsOf(d, prior)
	if !facts.Drifted {
		return false
	}
	facts.Drifted = false
	return !facts.NeedsWrite()
}

// heldRemovals returns the removals that are held, and why. stays are deployments whose change is
// held. If a deployment stays, the deployments that it depends on stay, too.
func (d Desired) heldRemovals(removed []Key, stays map[Key]bool) map[Key]error {
	if d.Windows == nil {
		return nil
	}
	held, isRemoved := map[Key]error{}, map[Key]bool{}
	queue := slices.SortedFunc(maps.Keys(stays), Key.Compare)
	for _, key := range removed {
		isRemoved[key] = true
		if err := heldBy(d.Windows.Closed(key.Cluster, d.windowBundle(key.Bundle), false)); err != nil {
			held[key] = err
			queue = append(queue, key)
		}
	}
	for len(queue) > 0 {
		key := queue[0]
		queue = queue[1:]
		for _, name := range d.Needs[key.Bundle] {
			needed := Key{Cluster: key.Cluster, Bundle: name}
			if isRemoved[needed] && held[needed] == nil {
				held[needed] = &rollout.HeldError{Reason: fmt.Sprintf("bundle %s, which depends on it, is held", key.Bundle)}
				queue = append(queue, needed)
			}
		}
	}
	return held
}

// HeldByWindows returns the deployments that windows would hold, and why.
func HeldByWindows(desired Desired, windows Windows, prior map[Key]Record, relabel bool) []Failure {
	desired.Windows = nil
	free := Compare(desired, prior, relabel).HeldKeys()
	desired.Windows = windows
	return slices.DeleteFunc(Compare(desired, prior, relabel).Held, func(f Failure) bool {
		return free[Key{Cluster: f.Cluster, Bundle: f.Bundle}]
	})
}

// HeldRemovals returns the deployments that are not wanted and whose removal is held.
func (c Change) HeldRemovals() []Key {
	var held []Key
	for _, f := range c.Held {
		if f.IsRemoval() {
			held = append(held, Key{Cluster: f.Cluster, Bundle: f.Bundle})
		}
	}
	return held
}

// Blocked returns the deployments to be written or removed that windows do not allow to change,
// and why.
func (c Change) Blocked(desired Desired, windows Windows) map[Key]error {
	if windows == nil {
		return nil
	}
	desired.Windows = windows
	blocked := map[Key]error{}
	for _, d := range c.Write {
		if err := desired.heldWrite(d, c.prior); err != nil {
			blocked[KeyOf(d)] = err
		}
	}
	maps.Copy(blocked, desired.heldRemovals(c.Remove, keysOf(blocked)))
	for key, err := range blocked {
		blocked[key] = &ClosedWindowError{Err: &rollout.HeldError{Reason: "the plan is from a time at which changes were allowed: " + status.Cause(err)}}
	}
	return blocked
}

// ClosedWindowError reports a planned deployment that a window no longer allows to change.
type ClosedWindowError struct{ Err error }

func (e *ClosedWindowError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ClosedWindowError) Unwrap() error { return e.Err }

// IsRemoval reports whether a deployment was to be removed.
func (f Failure) IsRemoval() bool { return f.Doing == removing }

func keysOf(of map[Key]error) map[Key]bool {
	keys := make(map[Key]bool, len(of))
	for key := range of {
		keys[key] = true
	}
	return keys
}
