package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// States that the order itself uses. The status package describes all states.
const (
	ready     = "Ready"
	notReady  = "NotReady"
	modified  = "Modified"
	outOfSync = "OutOfSync"
	pending   = "Pending"
)

// phase is the progress of a step.
type phase int

const (
	// finished steps have nothing left to do.
	finished phase = iota
	waiting
	running
)

// progress is the progress of the steps of an order, and what they wait for.
type progress struct {
	dependencies

	steps []Step
	// phases and states are the current ones of the steps. outdated steps are not as wanted.
	phases   []phase
	states   []string
	outdated []bool
	held     map[int]error
}

func newProgress(steps []Step) *progress {
	p := &progress{
		dependencies: resolve(steps), steps: steps,
		phases: make([]phase, len(steps)), states: make([]string, len(steps)), outdated: make([]bool, len(steps)),
		held: map[int]error{},
	}
	for i, step := range steps {
		p.states[i], p.outdated[i] = step.State, step.Change
		if step.Change {
			p.phases[i] = waiting
		}
	}
	return p
}

// finish ends a step in a state.
func (p *progress) finish(i int, state string) {
	p.phases[i], p.states[i] = finished, state
	if state == ready || state == notReady {
		p.outdated[i] = false
	}
}

func (p *progress) hold(i int, err error) {
	p.phases[i], p.held[i] = finished, err
}

// isNeededReady reports whether a waiting step needs step i to be ready.
func (p *progress) isNeededReady(i int) bool {
	return slices.ContainsFunc(p.dependants[i], func(j int) bool {
		return p.phases[j] == waiting && slices.ContainsFunc(p.needs[j], func(n need) bool {
			return slices.Contains(n.steps, i) && !slices.Contains(n.accepted, notReady)
		})
	})
}

// unmet reports whether a step has to wait for others. It returns an error if the step would wait
// in vain.
func (p *progress) unmet(i int) (wait bool, err error) {
	for _, need := range p.needs[i] {
		for _, j := range need.steps {
			if p.phases[j] != finished {
				wait = true
				continue
			}
			if !slices.Contains(need.accepted, p.stateFor(j)) {
				return false, &HeldError{Reason: fmt.Sprintf("it depends on bundle %s, which is %s", p.steps[j].Deployment.Bundle.Name, p.describe(j))}
			}
		}
	}
	return wait, nil
}

// stateFor returns the state of a finished step that counts for its dependants (Fleet's
// internal/cmd/controller/summary/summary.go).
func (p *progress) stateFor(i int) string {
	if p.held[i] == nil || (p.states[i] != ready && p.states[i] != "") {
		return p.states[i]
	}
	if p.states[i] == "" {
		return pending
	}
	return outOfSync
}

func (p *progress) describe(i int) string {
	if p.held[i] != nil {
		return "also held"
	}
	return p.stateFor(i)
}

// isUnavailable reports whether the deployment of a step cannot serve now. A deployment that does
// not exist and has not begun does not count. A modified deployment that is not to be corrected
// does not count either.
func (p *progress) isUnavailable(i int) bool {
	if p.phases[i] == running && p.outdated[i] {
		return true
	}
	switch p.states[i] {
	case "", ready:
		return false
	case modified:
		return p.outdated[i]
	}
	return true
}

// isBehind reports whether a step is unavailable or not as wanted.
func (p *progress) isBehind(i int) bool { return p.outdated[i] || p.isUnavailable(i) }

// clusters names the clusters of the steps that count, as the beginning of a sentence: "a and 3
// others are".
func (p *progress) clusters(steps []int, counts func(int) bool) string {
	var names []string
	for _, i := range steps {
		if counts(i) {
			names = append(names, p.steps[i].Deployment.Cluster)
		}
	}
	const shown = 5
	switch {
	case len(names) == 0:
		return "no cluster is"
	case len(names) == 1:
		return "cluster " + names[0] + " is"
	case len(names) > shown:
		return fmt.Sprintf("clusters %s and %d others are", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return "clusters " + strings.Join(names, ", ") + " are"
}

// count returns for how many steps a condition is true.
func count(steps []int, counts func(int) bool) int {
	n := 0
	for _, i := range steps {
		if counts(i) {
			n++
		}
	}
	return n
}
