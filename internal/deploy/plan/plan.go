// Package plan decides what an apply does. It reads no cluster.
package plan

import (
	"context"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Charts renders deployments. It sends no request to a cluster.
type Charts interface {
	// Render returns the objects of a deployment. Equal deployments are rendered once.
	Render(ctx context.Context, d target.Deployment) (release.Rendering, error)
	// DependsOnCluster reports whether a rendering can depend on the capabilities of its cluster.
	DependsOnCluster(d target.Deployment) (bool, error)
	// BringsKinds reports whether a deployment can add kinds to its cluster.
	BringsKinds(d target.Deployment) (bool, error)
	// CRDDocuments returns the objects in files below crds/, which are in no rendering.
	CRDDocuments(d target.Deployment, rendering release.Rendering) ([]diff.Document, error)
	// Locate returns the file of an object and its line, 0 if the line is not known. place is that of
	// its document.
	Locate(d target.Deployment, place, kind, name string) (file string, line int)
}

// Reach reports which clusters can be reached. It opens no connection.
type Reach interface {
	// Has reports whether a cluster is in the configuration, or state has its connection.
	Has(cluster string) bool
	// Check reads a connection. A connection that is not known yet is no error.
	Check(cluster string) error
}

// Facts are what a plan takes into account in addition to configuration and state. None of them is
// read from a cluster, so a plan that is repeated during an apply is the same.
type Facts struct {
	Charts Charts
	Reach  Reach
	Limit  RemovalLimit
	// Relabel reports that the labels in the release records change. Then every release is
	// processed again, although nothing else of it changes.
	Relabel bool
	// HoldBroken reports that deployments which cannot be rendered are held. Without it they are
	// failures.
	HoldBroken bool
	// Diff decides for which deployments the rendered objects are kept, and not only their hashes.
	Diff DiffMode
	// TakesOver reports that the target may take releases over from other owners. Then objects of new
	// deployments are kept for the comparison with live objects.
	TakesOver bool
	// Wait reports that the apply waits until the objects of each deployment are ready.
	Wait bool
	// Start is called as soon as something is to be rendered. It starts the renderer, so that the
	// renderer is ready when connections are read.
	Start func()
	// Prefetch is called before charts are rendered. The function that it returns is called before
	// New returns. Prefetch may read clusters in advance for the reports about a plan.
	Prefetch func(ctx context.Context, write []target.Deployment) (wait func())
}

// mayTakeOver reports whether a deployment can be compared with live objects of other owners.
func (f Facts) mayTakeOver(d target.Deployment) bool {
	return f.Diff != DiffSummary && (f.TakesOver || d.Options.Helm != nil && d.Options.Helm.TakeOwnership)
}

// Plan is what an apply is going to do.
type Plan struct {
	Change

	// Hooks are those that an apply adds or runs.
	Hooks []HookRun
	// Counts are those of the change, including removals on clusters that cannot be reached.
	Counts status.Changes
	// Unreachable are clusters that have deployments to be removed and whose connection is neither
	// in the configuration nor in state. Their deployments are not in Remove.
	Unreachable []string
	// Exceeded is why the change removes more than it may, nil if it does not. Exceeded is an
	// *EmptyError, a *TooManyRemovalsError, or the error of a limit that cannot be read.
	Exceeded error
	// Unconnected are errors of connections by cluster.
	Unconnected map[string]error

	// Renderings are those of deployments to be written. If a plan cannot be carried out, nothing
	// is rendered.
	Renderings map[deploy.Key]release.Rendering
	// Objects are the objects that deployments to be written are going to have, with a hash of
	// each. If a deployment is missing here, its objects are known only after the apply.
	Objects map[deploy.Key]map[string]string
	// Unknown are the reasons why objects or their hashes are not known, with the deployments.
	Unknown status.Grouped
	// Failures are deployments that cannot be rendered. NotRendered are those that come after one
	// that has exceeded a limit: the plan fails, so nothing more is rendered.
	Failures    []deploy.Failure
	NotRendered []deploy.Key
	// Violations are what policies do not allow, in the order of the deployments.
	Violations []policy.Violation
	// Moves are the objects that move from one bundle to another, by cluster.
	Moves map[string]release.Moves

	// Kinds are those of the objects of deployments to be written.
	Kinds map[deploy.Key][]WantedKind
	// UnknownFields are fields of objects that API servers do not know, with the deployments.
	UnknownFields map[string][]deploy.Key
	// UncheckedSchemas are references of schemas to other documents, with the deployments.
	UncheckedSchemas map[string][]deploy.Key

	waits   bool
	desired Desired
}

// New decides what an apply does to bring clusters from prior to what is desired.
func New(ctx context.Context, desired Desired, prior map[deploy.Key]deploy.Record, facts Facts) Plan {
	change := Compare(desired, prior, facts.Relabel)
	if facts.HoldBroken {
		if broken := renderErrors(ctx, facts.Charts, change.Write); len(broken) > 0 {
			desired = desired.withBroken(broken)
			change = Compare(desired, prior, facts.Relabel)
		}
	}
	plan := Plan{
		Change: change, Counts: change.Counts(), Renderings: map[deploy.Key]release.Rendering{},
		Objects: map[deploy.Key]map[string]string{}, Kinds: map[deploy.Key][]WantedKind{},
		UnknownFields: map[string][]deploy.Key{}, UncheckedSchemas: map[string][]deploy.Key{},
		waits: facts.Wait, desired: desired,
	}
	plan.Change, plan.Unreachable = change.WithoutUnreachable(facts.Reach)
	plan.Exceeded = facts.Limit.Check(plan.Counts.Removed, len(prior), len(plan.Write)+len(plan.Unchanged))
	if len(plan.Write) > 0 && facts.Start != nil {
		facts.Start()
	}
	plan.Unconnected = connectionErrors(facts.Reach, plan.Clusters())
	if plan.Exceeded != nil || len(plan.Unconnected) > 0 || len(plan.Faults) > 0 {
		return plan
	}
	if facts.Prefetch != nil {
		defer facts.Prefetch(ctx, plan.Write)()
	}
	plan.render(ctx, facts, desired.Policies)
	plan.Moves = plan.plannedMoves()
	return plan
}

// renderErrors are the errors of deployments that cannot be rendered.
func renderErrors(ctx context.Context, charts Charts, write []target.Deployment) map[deploy.Key]error {
	broken := map[deploy.Key]error{}
	for _, d := range write {
		if _, err := charts.Render(ctx, d); err != nil {
			broken[deploy.KeyOf(d)] = err
		}
	}
	return broken
}

// connectionErrors reads the connections that a change needs: a context that does not exist
// shows here, and not after half of the clusters were changed.
func connectionErrors(reach Reach, clusters []string) map[string]error {
	broken := map[string]error{}
	for _, name := range clusters {
		if err := reach.Check(name); err != nil {
			broken[name] = err
		}
	}
	return broken
}

// Change is what happens to each deployment of a target.
type Change struct {
	Write  []target.Deployment
	Remove []deploy.Key
	// Keep are the deployments of state that stay as they are.
	Keep map[deploy.Key]bool
	// Added is how many deployments of Write are not in state.
	Added int

	// Unchanged are the wanted deployments that are not written. Held are those of them that are
	// not as wanted, and removals that are held. Faults are those that can never be written.
	Unchanged    []rollout.Step
	Held, Faults []deploy.Failure
	// Stages describes the order, and Order has the deployments that begin together. Needs are the
	// bundles that each bundle depends on, and RemovalNeeds are these and the ones of the applies
	// before: they order removals. External are dependencies of deployments to be written on bundles
	// outside the target.
	Stages              string
	Order               []rollout.Stage
	Needs, RemovalNeeds map[string][]string
	External            map[deploy.Key][]rollout.ExternalDependency

	Prior map[deploy.Key]deploy.Record
}

// Compare decides what happens to each deployment. It keeps a deployment whose digest is as wanted
// and whose last operation was completed, unless remark is true. A deployment that the order holds
// is not begun and stays as it is. A broken deployment stays as it is, too.
func Compare(desired Desired, prior map[deploy.Key]deploy.Record, remark bool) Change {
	change := Change{Keep: map[deploy.Key]bool{}, External: map[deploy.Key][]rollout.ExternalDependency{}, Prior: prior}
	held := newHeldChanges(desired, prior)
	steps, there := change.steps(desired, held, remark)
	order := rollout.NewOrder(steps)
	forecast := rollout.Simulate(order)
	change.Stages = forecast.Text
	change.Order = forecast.Stages
	change.Needs = order.Needs()
	change.RemovalNeeds = union(desired.Needs, change.Needs)
	for i, step := range steps {
		key := deploy.KeyOf(step.Deployment)
		_, had := prior[key]
		failure := key.Failure("deploying", forecast.Held[i])
		step.Held = forecast.Held[i]
		switch {
		case order.Faults()[i] != nil:
			failure.Err = order.Faults()[i]
			change.Faults = append(change.Faults, failure)
		case step.Held != nil:
			change.Held = append(change.Held, failure)
		case step.Change:
			change.Write = append(change.Write, step.Deployment)
			change.External[key] = order.ExternalDependencies(i)
			if !had {
				change.Added++
			}
			continue
		}
		change.Unchanged = append(change.Unchanged, step)
		if had {
			change.Keep[key] = true
		}
	}
	return change.withRemovals(held, there)
}

// union returns the bundles that each bundle depends on by a or by b.
func union(a, b map[string][]string) map[string][]string {
	all := maps.Clone(b)
	for bundle, needs := range a {
		all[bundle] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(needs, b[bundle]))))
	}
	return all
}

// withRemovals adds the unwanted deployments: their removal, or why it is held.
func (c Change) withRemovals(changes *heldChanges, there map[deploy.Key]bool) Change {
	removed := slices.SortedFunc(maps.Keys(c.Prior), deploy.Key.Compare)
	removed = slices.DeleteFunc(removed, func(key deploy.Key) bool { return there[key] })
	held := changes.removals(removed, maps.Keys(c.HeldKeys()), c.RemovalNeeds)
	for _, key := range removed {
		if held[key] == nil {
			c.Remove = append(c.Remove, key)
			continue
		}
		c.Held = append(c.Held, key.Failure(deploy.Removing, held[key]))
		c.Keep[key] = true
	}
	return c
}

// steps returns the wanted deployments in the order of the configuration, and their keys.
func (c Change) steps(desired Desired, held *heldChanges, remark bool) (steps []rollout.Step, there map[deploy.Key]bool) {
	there = map[deploy.Key]bool{}
	for _, d := range desired.all(c.Prior) {
		key := deploy.KeyOf(d)
		there[key] = true
		if err := desired.brokenBy(key); err != nil {
			// For a rollout and for dependent deployments it is like one that failed.
			steps = append(steps, rollout.Step{Deployment: d, State: string(status.ErrApplied), Change: true, Held: err})
			continue
		}
		facts := deploy.FactsOf(d, c.Prior)
		facts.Forced = remark
		step := rollout.Step{Deployment: d, State: string(c.Prior[key].State), Change: facts.NeedsWrite()}
		if step.Change {
			step.Held = held.write(d)
		}
		steps = append(steps, step)
	}
	return steps, there
}

// Counts returns the numbers of the summary.
func (c Change) Counts() status.Changes {
	return status.Changes{Added: c.Added, Changed: len(c.Write) - c.Added, Removed: len(c.Remove), Kept: len(c.Keep), Held: len(c.Held)}
}

// Clusters returns the clusters that something is written on or removed from, sorted.
func (c Change) Clusters() []string {
	needed := map[string]bool{}
	for _, d := range c.Write {
		needed[d.Cluster] = true
	}
	for _, key := range c.Remove {
		needed[key.Cluster] = true
	}
	return slices.Sorted(maps.Keys(needed))
}

// Deploys returns the deployments that exist after an apply.
func (c Change) Deploys() map[deploy.Key]bool {
	keys := maps.Clone(c.Keep)
	for _, d := range c.Write {
		keys[deploy.KeyOf(d)] = true
	}
	return keys
}

// GainKinds returns the clusters that can serve more kinds after an apply.
func (c Change) GainKinds(charts Charts) map[string]bool {
	clusters := map[string]bool{}
	for _, d := range c.Write {
		if clusters[d.Cluster] {
			continue
		}
		brings, err := charts.BringsKinds(d)
		clusters[d.Cluster] = brings || err != nil
	}
	return clusters
}

// WithoutUnreachable returns the change without removals on clusters that cannot be reached,
// and those clusters, sorted.
func (c Change) WithoutUnreachable(reach Reach) (reachableOnly Change, clusters []string) {
	unreachable := map[string]bool{}
	c.Remove = slices.DeleteFunc(slices.Clone(c.Remove), func(key deploy.Key) bool {
		if reach.Has(key.Cluster) {
			return false
		}
		unreachable[key.Cluster] = true
		return true
	})
	return c, slices.Sorted(maps.Keys(unreachable))
}

// UnexpectedlyHeld returns the held deployments that a plan showed as to be written. A plan of a
// replacement can show that, because it is made without the records of the existing deployments.
// Only an error can report a result that differs from the plan. showsOther reports whether the
// plan shows a deployment with another digest.
func (c Change) UnexpectedlyHeld(showsOther func(key deploy.Key, digest string) bool) []deploy.Failure {
	return slices.DeleteFunc(slices.Clone(c.Held), func(f deploy.Failure) bool {
		key := deploy.Key{Cluster: f.Cluster, Bundle: f.Bundle}
		return !showsOther(key, c.Prior[key].Digest)
	})
}

// HeldKeys returns the deployments that are held.
func (c Change) HeldKeys() map[deploy.Key]bool {
	held := make(map[deploy.Key]bool, len(c.Held))
	for _, f := range c.Held {
		held[deploy.Key{Cluster: f.Cluster, Bundle: f.Bundle}] = true
	}
	return held
}

// Shown is what a plan showed, and what an apply has to do.
type Shown struct {
	// Relabel is that of Facts.
	Relabel bool
	// HoldsBroken reports that deployments which Writes does not report are held: the plan found
	// that they cannot be rendered.
	HoldsBroken bool
	Writes      func(deploy.Key) bool
	// KnowsObjects reports that the plan showed objects, and Objects are the objects that it
	// showed.
	KnowsObjects bool
	Objects      map[deploy.Key]map[string]string
}

// Replan decides what an apply does, so that the apply does what the plan has shown.
func Replan(desired Desired, prior map[deploy.Key]deploy.Record, shown Shown, charts Charts) Change {
	change := Compare(desired, prior, shown.Relabel)
	if shown.HoldsBroken {
		broken := map[deploy.Key]error{}
		for _, d := range change.Write {
			if !shown.Writes(deploy.KeyOf(d)) {
				broken[deploy.KeyOf(d)] = &rollout.HeldError{Reason: "it cannot be rendered"}
			}
		}
		if len(broken) > 0 {
			change = Compare(desired.withBroken(broken), prior, shown.Relabel)
		}
	}
	change.unpinAfterKinds(charts)
	if shown.KnowsObjects {
		change.unpinUnplanned(shown.Objects)
	}
	return change
}

// Removal returns the plan of a target that is destroyed.
func Removal(prior map[deploy.Key]deploy.Record) *Plan {
	return &Plan{Change: Change{Remove: slices.Collect(maps.Keys(prior)), Prior: prior}}
}
