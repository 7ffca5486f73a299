package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// ExternalDependency is a dependency on a bundle that is not among the steps on its cluster. A
// release of the same owner can meet it.
type ExternalDependency struct {
	Bundle string
	// AcceptedStates are the states of the bundle in which its dependants can begin.
	AcceptedStates []string
}

// Accepts reports whether a dependant can begin when the bundle is in a state.
func (d ExternalDependency) Accepts(state string) bool {
	return slices.Contains(d.AcceptedStates, state)
}

// need is one entry of dependsOn on one cluster. All of its steps must be in an accepted state.
type need struct {
	steps    []int
	accepted []string
}

// dependencies contains what the steps wait for, each list by step.
type dependencies struct {
	needs      [][]need
	external   [][]ExternalDependency
	dependants [][]int
	// faults are the steps whose dependencies can never be met.
	faults map[int]error
}

// resolve finds the steps that the entries of dependsOn match, on each cluster separately (Fleet's
// internal/cmd/agent/deployer/deployer.go).
func resolve(steps []Step) dependencies {
	found := dependencies{
		needs: make([][]need, len(steps)), external: make([][]ExternalDependency, len(steps)), dependants: make([][]int, len(steps)),
		faults: map[int]error{},
	}
	onCluster := map[string][]int{}
	for i, step := range steps {
		onCluster[step.Deployment.Cluster] = append(onCluster[step.Deployment.Cluster], i)
	}
	compiled := map[*fleetyaml.Selector]labels.Selector{}
	for i, step := range steps {
		for _, entry := range step.Deployment.Bundle.Definition.DependsOn {
			matches, err := matching(entry, compiled)
			if err != nil {
				found.faults[i] = err
				continue
			}
			neighbours := onCluster[step.Deployment.Cluster]
			met := slices.DeleteFunc(slices.Clone(neighbours), func(j int) bool { return !matches(steps[j]) })
			accepted := entry.AcceptedStates
			if len(accepted) == 0 {
				accepted = []string{ready}
			}
			switch {
			case len(met) > 0:
				found.needs[i] = append(found.needs[i], need{steps: met, accepted: accepted})
			case entry.Selector == nil:
				found.external[i] = append(found.external[i], ExternalDependency{Bundle: entry.Name, AcceptedStates: accepted})
			case step.Change:
				found.faults[i] = unmetSelectorError(entry.Name, compiled[entry.Selector])
			}
		}
	}
	for i, needs := range found.needs {
		for _, need := range needs {
			for _, j := range need.steps {
				found.dependants[j] = append(found.dependants[j], i)
			}
		}
	}
	found.refuseCycles(steps)
	return found
}

// matching returns a function that reports whether an entry matches a step.
func matching(entry fleetyaml.Dependency, compiled map[*fleetyaml.Selector]labels.Selector) (func(Step) bool, error) {
	named := func(step Step) bool { return entry.Name == "" || step.Deployment.Bundle.Name == entry.Name }
	if entry.Selector == nil {
		return named, nil
	}
	selector, ok := compiled[entry.Selector]
	if !ok {
		var err error
		if selector, err = entry.Selector.Compile(); err != nil {
			return nil, fmt.Errorf("selector of dependsOn: %w", err)
		}
		compiled[entry.Selector] = selector
	}
	return func(step Step) bool {
		return named(step) && selector.Matches(labelsOf{step.Deployment.Bundle})
	}, nil
}

// labelsOf contains the labels of a bundle, and the label with its name that Fleet adds.
type labelsOf struct{ *bundle.Bundle }

func (l labelsOf) Has(label string) bool {
	_, ok := l.Lookup(label)
	return ok
}

func (l labelsOf) Get(label string) string {
	value, _ := l.Lookup(label)
	return value
}

func (l labelsOf) Lookup(label string) (string, bool) {
	if label == wellknown.BundleName {
		return l.Name, true
	}
	value, ok := l.Definition.Labels[label]
	return value, ok
}

// refuseCycles finds steps that wait for themselves, and adds them to faults.
func (d *dependencies) refuseCycles(steps []Step) {
	const (
		unseen = iota
		open
		closed
	)
	seen := make([]int, len(steps))
	var trail []int
	var follow func(i int)
	follow = func(i int) {
		seen[i] = open
		trail = append(trail, i)
		for _, need := range d.needs[i] {
			for _, j := range need.steps {
				switch seen[j] {
				case unseen:
					follow(j)
				case open:
					d.refuse(trail[slices.Index(trail, j):], steps)
				}
			}
		}
		trail = trail[:len(trail)-1]
		seen[i] = closed
	}
	for i := range steps {
		if seen[i] == unseen && len(d.needs[i]) > 0 {
			follow(i)
		}
	}
}

func (d *dependencies) refuse(cycle []int, steps []Step) {
	names := make([]string, len(cycle))
	for i, step := range cycle {
		names[i] = steps[step].Deployment.Bundle.Name
	}
	// The cycle starts with the first name of the alphabet, so that its text is the same on all
	// clusters.
	first := slices.Index(names, slices.Min(names))
	err := cycleError(slices.Concat(names[first:], names[:first]))
	for _, step := range cycle {
		if d.faults[step] == nil {
			d.faults[step] = err
		}
	}
}

// names returns, for each bundle, the bundles of the steps that it waits for, sorted. Bundles that
// wait for none are left out.
func (d *dependencies) names(steps []Step) map[string][]string {
	names := map[string][]string{}
	for i, needs := range d.needs {
		bundle := steps[i].Deployment.Bundle.Name
		for _, need := range needs {
			for _, j := range need.steps {
				names[bundle] = append(names[bundle], steps[j].Deployment.Bundle.Name)
			}
		}
	}
	for bundle, list := range names {
		slices.Sort(list)
		names[bundle] = slices.Compact(list)
	}
	return names
}

// RemovalDependencies returns, for each bundle to be removed, the bundles that have to be removed
// first: those that depend on it. needs contains the bundles that each bundle depends on. Several
// applies can contribute to needs, so it can contain a cycle, which is then broken.
func RemovalDependencies(bundles []string, needs map[string][]string) map[string][]string {
	leaving := map[string]bool{}
	for _, bundle := range bundles {
		leaving[bundle] = true
	}
	position := map[string]int{} // Dependencies come before their dependants.
	seen := map[string]bool{}
	var follow func(bundle string)
	follow = func(bundle string) {
		if seen[bundle] {
			return
		}
		seen[bundle] = true
		for _, other := range needs[bundle] {
			follow(other)
		}
		position[bundle] = len(position)
	}
	for _, bundle := range slices.Sorted(slices.Values(bundles)) {
		follow(bundle)
	}
	first := map[string][]string{}
	for _, dependant := range bundles {
		for _, bundle := range needs[dependant] {
			if leaving[bundle] && position[bundle] < position[dependant] {
				first[bundle] = append(first[bundle], dependant)
			}
		}
	}
	return first
}

// cycleError reports that bundles wait for each other: each depends on the next, and the last on the
// first.
func cycleError(bundles []string) error {
	if len(bundles) == 1 {
		return fmt.Errorf("bundle %s depends on itself", bundles[0])
	}
	cycle := strings.Join(append(bundles, bundles[0]), ", which depends on ")
	return fmt.Errorf("bundles depend on each other in a cycle: %s", cycle)
}

// unmetSelectorError reports that a selector of dependsOn matches no bundle that the target deploys
// to the cluster. Labels of bundles are known only within a target. bundle is the name that the entry
// requires in addition, "" for any.
func unmetSelectorError(bundle string, selector labels.Selector) error {
	who := strings.TrimSpace("no bundle " + bundle)
	return fmt.Errorf("dependsOn matches %s: no bundle that this target deploys to the cluster has labels that match %s",
		who, cmp.Or(selector.String(), "{}"))
}

// MissingDependencyError reports that a bundle depends on a bundle that its cluster does not get.
type MissingDependencyError struct {
	Bundle string
	// Suggestion is the bundle that was probably meant, "" if no name is similar.
	Suggestion string
}

func (e *MissingDependencyError) Error() string {
	text := fmt.Sprintf("it depends on bundle %s: this target does not deploy it to the cluster, "+
		"and no release of the same owner exists there", e.Bundle)
	if e.Suggestion != "" {
		text += fmt.Sprintf("; did you mean %s?", e.Suggestion)
	}
	return text
}
