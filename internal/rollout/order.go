package rollout

import (
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Step is one wanted deployment, as the order of an apply sees it.
type Step struct {
	Deployment target.Deployment
	// State is how it is doing on the cluster, "" when it is not there.
	State string
	// Change says that it is not as wanted.
	Change bool
	// Held is why a change must not be made, nil if it can be.
	Held error
}

// Order says which steps can begin at once, and which can only after others: on one
// cluster what depends on others, and over clusters what a rollout strategy holds
// back. It knows nothing of time; the caller carries the steps out and reports what came of
// them. It is not safe for concurrent use.
type Order struct {
	at       *progress
	rollouts []*rollout // By step, nil for a bundle without.

	// Steps and rollouts to be looked at by Next.
	steady  []int
	rolling []*rollout
}

// NewOrder makes the order of all wanted deployments, those included that are as
// they should be: others can depend on them. What can never be met is found in Faults.
func NewOrder(steps []Step) *Order {
	o := &Order{at: newProgress(steps), rollouts: make([]*rollout, len(steps))}
	o.gather()
	for i, step := range steps {
		if step.Change {
			o.block(i)
		}
	}
	for i, step := range steps {
		if !step.Change && step.State == notReady && o.at.isNeededReady(i) {
			o.at.phases[i] = waiting
		}
		o.enqueue(i)
	}
	return o
}

// gather makes the rollouts.
func (o *Order) gather() {
	byBundle := map[string][]int{}
	for i, step := range o.at.steps {
		if step.Deployment.Bundle.Definition.RolloutStrategy != nil {
			byBundle[step.Deployment.Bundle.Name] = append(byBundle[step.Deployment.Bundle.Name], i)
		}
	}
	for _, members := range byBundle {
		made, err := newRollout(o.at.steps, members)
		for _, i := range members {
			if err != nil {
				o.at.faults[i] = err
				continue
			}
			o.rollouts[i] = made
		}
	}
}

// block holds a step that must not begin whatever happens.
func (o *Order) block(i int) {
	step := o.at.steps[i]
	switch {
	case o.at.faults[i] != nil:
		o.at.hold(i, o.at.faults[i])
	case step.Held != nil:
		o.at.hold(i, step.Held)
	case step.Deployment.Paused:
		o.at.hold(i, &HeldError{Reason: "the bundle or the cluster is paused"})
	case o.rollouts[i] != nil && o.rollouts[i].excludes(step):
		o.at.hold(i, &HeldError{Reason: "the cluster is in no partition of the bundle's rollout strategy"})
	}
}

// enqueue has Next look at a step again.
func (o *Order) enqueue(i int) {
	if o.rollouts[i] == nil {
		o.steady = append(o.steady, i)
		return
	}
	if !slices.Contains(o.rolling, o.rollouts[i]) {
		o.rolling = append(o.rolling, o.rollouts[i])
	}
}

func (o *Order) enqueueDependants(i int) {
	for _, j := range o.at.dependants[i] {
		o.enqueue(j)
	}
}

// Next answers the steps that can begin now, each once, and those that turned out
// never to begin in this apply. A step without a change is to be looked at until it
// is ready.
func (o *Order) Next() (begin, held []int) {
	for len(o.steady)+len(o.rolling) > 0 {
		if len(o.steady) > 0 {
			i := o.steady[0]
			o.steady = o.steady[1:]
			begin, held = o.startWithoutRollout(i, begin, held)
			continue
		}
		r := o.rolling[0]
		o.rolling = o.rolling[1:]
		more, stopped := r.advance(o.at)
		begin, held = append(begin, more...), append(held, stopped...)
		for _, i := range stopped {
			o.enqueueDependants(i)
		}
	}
	return begin, held
}

// startWithoutRollout begins a step that no rollout concerns.
func (o *Order) startWithoutRollout(i int, begin, held []int) (nowBegin, nowHeld []int) {
	if o.at.phases[i] != waiting {
		return begin, held
	}
	wait, err := o.at.unmet(i)
	switch {
	case err != nil:
		o.at.hold(i, err)
		o.enqueueDependants(i)
		return begin, append(held, i)
	case wait:
		return begin, held
	}
	o.at.phases[i] = running
	return append(begin, i), held
}

// Finish says that a step came to an end, and how it is doing: as the cluster says,
// or ErrApplied or WaitApplied when it failed.
func (o *Order) Finish(i int, state string) {
	o.at.finish(i, state)
	o.enqueue(i)
	o.enqueueDependants(i)
}

// Awaited says whether anything waits for step i to get ready.
func (o *Order) Awaited(i int) bool {
	if r := o.rollouts[i]; r != nil && slices.ContainsFunc(r.members, func(j int) bool { return o.at.phases[j] == waiting }) {
		return true
	}
	return o.at.isNeededReady(i)
}

// Held is why a step does not begin, nil if it may.
func (o *Order) Held(i int) error { return o.at.held[i] }

// Faults are the steps that can never begin, with a *CycleError, an
// *UnmetSelectorError or a *StrategyError.
func (o *Order) Faults() map[int]error { return o.at.faults }

// ExternalDependencies is what step i depends on and is not among the steps on its cluster.
func (o *Order) ExternalDependencies(i int) []ExternalDependency { return o.at.external[i] }

// Needs says for each bundle which other bundles it is deployed after.
func (o *Order) Needs() map[string][]string { return o.at.names(o.at.steps) }

// HeldError says why a deployment is not begun, although it is not as wanted. A later
// apply takes it up.
type HeldError struct{ Reason string }

func (e *HeldError) Error() string { return "it is held: " + e.Reason }
