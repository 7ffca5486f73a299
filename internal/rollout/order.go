package rollout

import (
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Step is one wanted deployment in the order of an apply.
type Step struct {
	Deployment target.Deployment
	// State is the state of the deployment on the cluster, "" if it does not exist.
	State string
	// Change is true if the deployment is not as wanted.
	Change bool
	// Held is why the change must not be made, nil if it may be made.
	Held error
}

// Order determines which steps can begin at once, and which only after others. On one cluster, a
// step waits for its dependencies. Across clusters, a step waits for the limits of a rollout
// strategy. Order does not run steps and uses no clock. The caller runs the steps and reports their
// results. It is not safe for concurrent use.
type Order struct {
	at       *progress
	rollouts []*rollout // By step, nil for a bundle without a rollout strategy.

	// Steps and rollouts that Next has to process.
	steady  []int
	rolling []*rollout
}

// NewOrder makes the order of all wanted deployments. Deployments without a change are included,
// because others can depend on them. Faults returns the steps that can never begin.
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

// gather creates the rollouts, one for each bundle with a rollout strategy.
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

// block holds a step that must not begin in any case.
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

// enqueue makes Next process a step again.
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

// Next returns the steps that can begin now, each once, and the steps that cannot begin in this
// apply any more. The caller has to wait for a step without a change until it is ready.
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

// startWithoutRollout begins a step of a bundle without a rollout, if it can begin.
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

// Finish records that a step has ended. state is the state of the deployment on the cluster, or
// ErrApplied or WaitApplied if the step failed.
func (o *Order) Finish(i int, state string) {
	o.at.finish(i, state)
	o.enqueue(i)
	o.enqueueDependants(i)
}

// Awaited reports whether any step waits until step i is ready.
func (o *Order) Awaited(i int) bool {
	if r := o.rollouts[i]; r != nil && slices.ContainsFunc(r.members, func(j int) bool { return o.at.phases[j] == waiting }) {
		return true
	}
	return o.at.isNeededReady(i)
}

// Held returns why a step does not begin, nil if it may.
func (o *Order) Held(i int) error { return o.at.held[i] }

// Faults returns the steps that can never begin, with the error of each, such as that of a cycle.
func (o *Order) Faults() map[int]error { return o.at.faults }

// ExternalDependencies returns the dependencies of step i that are not among the steps on its
// cluster.
func (o *Order) ExternalDependencies(i int) []ExternalDependency { return o.at.external[i] }

// Needs returns, for each bundle, the other bundles that it is deployed after.
func (o *Order) Needs() map[string][]string { return o.at.names(o.at.steps) }

// HeldError is why a deployment that is not as wanted does not begin. A later apply can begin it.
type HeldError struct{ Reason string }

func (e *HeldError) Error() string { return "it is held: " + e.Reason }
