package plan

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/window"
)

// heldChanges decides which changes windows hold. The author of a bundle chooses its name and its
// labels. So a window also concerns a deployment by the name and the labels that it has in state. A
// change is held if a window holds either of the two.
type heldChanges struct {
	windows deploy.Windows
	prior   map[deploy.Key]deploy.Record
	// planned are the labels of the wanted bundles, by name.
	planned map[string]map[string]string
	// deployed are the deployments in state that have a release, by cluster, namespace and release.
	deployed map[string][]deploy.Key
}

func newHeldChanges(desired Desired, prior map[deploy.Key]deploy.Record) *heldChanges {
	h := &heldChanges{windows: desired.Windows, prior: prior, planned: map[string]map[string]string{}, deployed: map[string][]deploy.Key{}}
	if h.windows == nil {
		return h
	}
	for _, d := range desired.Deployments {
		h.planned[d.Bundle.Name] = d.Bundle.Labels()
	}
	for key, record := range prior {
		for _, known := range record.Releases() {
			at := deploy.ReleaseOn(key.Cluster, known.Namespace, known.Release)
			h.deployed[at] = append(h.deployed[at], key)
		}
	}
	return h
}

// write returns why a change of a deployment is held by a window, nil if it is not.
func (h *heldChanges) write(d target.Deployment) error {
	if h.windows == nil {
		return nil
	}
	of := []window.Bundle{{Name: d.Bundle.Name, Labels: d.Bundle.Labels()}}
	for _, key := range append([]deploy.Key{deploy.KeyOf(d)}, h.deployed[deploy.ReleaseOn(d.Cluster, d.Namespace, d.Release)]...) {
		of = h.addDeployed(of, key)
	}
	if d.HelmOptions().TakeOwnership { // It could change objects of any deployment of the target.
		for _, key := range h.onCluster(d.Cluster) {
			of = h.addDeployed(of, key)
		}
	}
	return h.closed(d.Cluster, of, isDriftOnly(d, h.prior))
}

// onCluster returns the deployments that a cluster has in state, sorted.
func (h *heldChanges) onCluster(cluster string) []deploy.Key {
	var keys []deploy.Key
	for key := range h.prior {
		if key.Cluster == cluster {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, deploy.Key.Compare)
	return keys
}

// removal returns why a removal is held by a window, nil if it is not.
func (h *heldChanges) removal(key deploy.Key) error {
	if h.windows == nil {
		return nil
	}
	var of []window.Bundle
	if labels, isWanted := h.planned[key.Bundle]; isWanted {
		of = append(of, window.Bundle{Name: key.Bundle, Labels: labels})
	}
	return h.closed(key.Cluster, h.addDeployed(of, key), false)
}

// addDeployed adds a deployment as it is in state.
func (h *heldChanges) addDeployed(to []window.Bundle, key deploy.Key) []window.Bundle {
	if record, had := h.prior[key]; had {
		to = append(to, window.Bundle{Name: key.Bundle, Labels: record.BundleLabels})
	}
	return to
}

// closed returns why a window holds a deployment that is known under several names and labels.
func (h *heldChanges) closed(cluster string, known []window.Bundle, onlyDrift bool) error {
	for _, of := range known {
		if err := h.windows.Closed(cluster, of, onlyDrift); err != nil {
			return &rollout.HeldError{Reason: err.Error()}
		}
	}
	return nil
}

// isDriftOnly reports whether a deployment is written only because objects on the cluster differ.
func isDriftOnly(d target.Deployment, prior map[deploy.Key]deploy.Record) bool {
	facts := deploy.FactsOf(d, prior)
	if !facts.Drifted {
		return false
	}
	facts.Drifted = false
	return !facts.NeedsWrite()
}

// removals returns the removals that are held, and why. stays are deployments whose change is
// held, and needs the bundles that each bundle was deployed after. If a deployment stays, the
// deployments that it depends on stay, too.
func (h *heldChanges) removals(removed []deploy.Key, stays iter.Seq[deploy.Key], needs map[string][]string) map[deploy.Key]error {
	if h.windows == nil {
		return nil
	}
	held, isRemoved := map[deploy.Key]error{}, map[deploy.Key]bool{}
	queue := slices.SortedFunc(stays, deploy.Key.Compare)
	for _, key := range removed {
		isRemoved[key] = true
		if err := h.removal(key); err != nil {
			held[key] = err
			queue = append(queue, key)
		}
	}
	for len(queue) > 0 {
		key := queue[0]
		queue = queue[1:]
		for _, name := range needs[key.Bundle] {
			needed := deploy.Key{Cluster: key.Cluster, Bundle: name}
			if isRemoved[needed] && held[needed] == nil {
				held[needed] = &rollout.HeldError{Reason: fmt.Sprintf("bundle %s, which depends on it, is held", key.Bundle)}
				queue = append(queue, needed)
			}
		}
	}
	return held
}

// HeldByWindows returns the deployments that windows would hold, and why.
func HeldByWindows(desired Desired, windows deploy.Windows, prior map[deploy.Key]deploy.Record, relabel bool) []deploy.Failure {
	desired.Windows = nil
	free := Compare(desired, prior, relabel).HeldKeys()
	desired.Windows = windows
	return slices.DeleteFunc(Compare(desired, prior, relabel).Held, func(f deploy.Failure) bool {
		return free[deploy.Key{Cluster: f.Cluster, Bundle: f.Bundle}]
	})
}

// HeldRemovals returns the deployments that are not wanted and whose removal is held.
func (c Change) HeldRemovals() []deploy.Key {
	var held []deploy.Key
	for _, f := range c.Held {
		if f.IsRemoval() {
			held = append(held, deploy.Key{Cluster: f.Cluster, Bundle: f.Bundle})
		}
	}
	return held
}

// BlockedRemovals returns the removals that windows do not allow, and why.
func BlockedRemovals(
	removed []deploy.Key, needs map[string][]string, windows deploy.Windows, prior map[deploy.Key]deploy.Record,
) map[deploy.Key]error {
	return Change{Remove: removed, RemovalNeeds: needs, Prior: prior}.Blocked(Desired{}, windows)
}

// Blocked returns the deployments to be written or removed that windows do not allow to change,
// and why.
func (c Change) Blocked(desired Desired, windows deploy.Windows) map[deploy.Key]error {
	if windows == nil {
		return nil
	}
	desired.Windows = windows
	held, blocked := newHeldChanges(desired, c.Prior), map[deploy.Key]error{}
	for _, d := range c.Write {
		if err := held.write(d); err != nil {
			blocked[deploy.KeyOf(d)] = err
		}
	}
	maps.Copy(blocked, held.removals(c.Remove, maps.Keys(blocked), c.RemovalNeeds))
	for key, err := range blocked {
		reason := "the plan is from a time at which changes were allowed: " + status.Cause(err)
		blocked[key] = &ClosedWindowError{Err: &rollout.HeldError{Reason: reason}}
	}
	return blocked
}

// ClosedWindowError reports a planned deployment that a window no longer allows to change.
type ClosedWindowError struct{ Err error }

func (e *ClosedWindowError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ClosedWindowError) Unwrap() error { return e.Err }
