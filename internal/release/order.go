package release

import (
	"fmt"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// States that the order itself has to know; the status package words them all.
const (
	ready     = "Ready"
	notReady  = "NotReady"
	modified  = "Modified"
	outOfSync = "OutOfSync"
	pending   = "Pending"
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

// phase is how far a step has come.
type phase int

const (
	// settled steps have nothing left to do.
	settled phase = iota
	waiting
	running
)

// Order says which steps can begin at once, and which can only after others: on one
// cluster what depends on others, and over clusters what a rollout strategy holds
// back. It knows nothing of time; whoever carries the steps out tells it what came of
// them. It is not safe for concurrent use.
type Order struct {
	dependencies

	steps []Step
	// phases and states are those of the steps now. outdated steps are not as wanted.
	phases   []phase
	states   []string
	outdated []bool
	held     map[int]error
	rollouts []*rollout // By step, nil for a bundle without.

	// Steps and rollouts to be looked at by Next.
	steady  []int
	rolling []*rollout
}

// NewOrder makes the order of all wanted deployments, those included that are as
// they should be: others can depend on them. What can never be met is found in Faults.
func NewOrder(steps []Step) *Order {
	o := &Order{
		dependencies: resolve(steps), steps: steps,
		phases: make([]phase, len(steps)), states: make([]string, len(steps)), outdated: make([]bool, len(steps)),
		held: map[int]error{}, rollouts: make([]*rollout, len(steps)),
	}
	for i, step := range steps {
		o.states[i], o.outdated[i] = step.State, step.Change
		if step.Change {
			o.phases[i] = waiting
		}
	}
	o.gather()
	for i, step := range steps {
		if step.Change {
			o.bar(i)
		}
	}
	for i, step := range steps {
		if !step.Change && step.State == notReady && o.isNeededReady(i) {
			o.phases[i] = waiting
		}
		o.touch(i)
	}
	return o
}

// gather makes the rollouts.
func (o *Order) gather() {
	byBundle := map[string][]int{}
	for i, step := range o.steps {
		if step.Deployment.Bundle.Definition.RolloutStrategy != nil {
			byBundle[step.Deployment.Bundle.Name] = append(byBundle[step.Deployment.Bundle.Name], i)
		}
	}
	for _, members := range byBundle {
		made, err := newRollout(o.steps, members)
		for _, i := range members {
			if err != nil {
				o.faults[i] = err
				continue
			}
			o.rollouts[i] = made
		}
	}
}

// bar holds a step that must not begin whatever happens.
func (o *Order) bar(i int) {
	step := o.steps[i]
	switch {
	case o.faults[i] != nil:
		o.hold(i, o.faults[i])
	case step.Held != nil:
		o.hold(i, step.Held)
	case step.Deployment.Paused:
		o.hold(i, &HeldError{Reason: "the bundle or the cluster is paused"})
	case o.rollouts[i] != nil && o.rollouts[i].leavesOut(step):
		o.hold(i, &HeldError{Reason: "the cluster is in no partition of the bundle's rollout strategy"})
	}
}

func (o *Order) hold(i int, err error) {
	o.phases[i], o.held[i] = settled, err
}

// isNeededReady says whether a change waits for step i to get ready.
func (o *Order) isNeededReady(i int) bool {
	return slices.ContainsFunc(o.dependants[i], func(j int) bool {
		return o.phases[j] == waiting && slices.ContainsFunc(o.needs[j], func(n need) bool {
			return slices.Contains(n.steps, i) && !slices.Contains(n.accepted, notReady)
		})
	})
}

// touch has Next look at a step again.
func (o *Order) touch(i int) {
	if o.rollouts[i] == nil {
		o.steady = append(o.steady, i)
		return
	}
	if !slices.Contains(o.rolling, o.rollouts[i]) {
		o.rolling = append(o.rolling, o.rollouts[i])
	}
}

func (o *Order) touchDependants(i int) {
	for _, j := range o.dependants[i] {
		o.touch(j)
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
			begin, held = o.consider(i, begin, held)
			continue
		}
		r := o.rolling[0]
		o.rolling = o.rolling[1:]
		more, stopped := o.advance(r)
		begin, held = append(begin, more...), append(held, stopped...)
		for _, i := range stopped {
			o.touchDependants(i)
		}
	}
	return begin, held
}

// consider begins a step that no rollout concerns.
func (o *Order) consider(i int, begin, held []int) (nowBegin, nowHeld []int) {
	if o.phases[i] != waiting {
		return begin, held
	}
	wait, err := o.unmet(i)
	switch {
	case err != nil:
		o.hold(i, err)
		o.touchDependants(i)
		return begin, append(held, i)
	case wait:
		return begin, held
	}
	o.phases[i] = running
	return append(begin, i), held
}

// unmet says whether a step has to wait for others, or why it waits in vain.
func (o *Order) unmet(i int) (wait bool, err error) {
	for _, need := range o.needs[i] {
		for _, j := range need.steps {
			if o.phases[j] != settled {
				wait = true
				continue
			}
			if !slices.Contains(need.accepted, o.stateFor(j)) {
				return false, &HeldError{Reason: fmt.Sprintf("it depends on bundle %s, which is %s", o.steps[j].Deployment.Bundle.Name, o.describe(j))}
			}
		}
	}
	return wait, nil
}

// stateFor is the state of a settled step as its dependants see it (Fleet's
// internal/cmd/controller/summary/summary.go).
func (o *Order) stateFor(i int) string {
	if o.held[i] == nil || (o.states[i] != ready && o.states[i] != "") {
		return o.states[i]
	}
	if o.states[i] == "" {
		return pending
	}
	return outOfSync
}

func (o *Order) describe(i int) string {
	if o.held[i] != nil {
		return "held itself"
	}
	return o.stateFor(i)
}

// Settle says that a step came to an end, and how it is doing: as the cluster says,
// or ErrApplied or WaitApplied when it failed.
func (o *Order) Settle(i int, state string) {
	o.phases[i], o.states[i] = settled, state
	if state == ready || state == notReady {
		o.outdated[i] = false
	}
	o.touch(i)
	o.touchDependants(i)
}

// Awaited says whether anything waits for step i to get ready.
func (o *Order) Awaited(i int) bool {
	if r := o.rollouts[i]; r != nil && slices.ContainsFunc(r.members, func(j int) bool { return o.phases[j] == waiting }) {
		return true
	}
	return o.isNeededReady(i)
}

// Held is why a step does not begin, nil if it may.
func (o *Order) Held(i int) error { return o.held[i] }

// Faults are the steps that can never begin, with a *CycleError, an
// *UnmetSelectorError or a *RolloutError.
func (o *Order) Faults() map[int]error { return o.faults }

// Outside is what step i depends on and is not among the steps on its cluster.
func (o *Order) Outside(i int) []Outside { return o.outside[i] }

// Needs says for each bundle which other bundles it is deployed after.
func (o *Order) Needs() map[string][]string { return o.names(o.steps) }

// HeldError says why a deployment is not begun, although it is not as wanted. A later
// apply takes it up.
type HeldError struct{ Reason string }

func (e *HeldError) Error() string { return "it is held: " + e.Reason }
