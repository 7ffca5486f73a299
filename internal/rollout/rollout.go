// Package rollout determines the order in which the releases of a target are written and removed. A
// release is written after its dependencies, and the clusters are processed as the rollout strategy
// of the bundle allows.
package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// The defaults of a rollout strategy (Fleet's internal/cmd/controller/target/target.go).
const (
	defaultUnavailable   = "100%"
	defaultPartitionSize = "25%"
	defaultThreshold     = 200
	defaultMaxNew        = 50
)

// rollout is the deployment of one bundle to its clusters.
type rollout struct {
	bundle  string
	members []int // Steps, by the name of their cluster.
	// partitions are processed one after the other.
	partitions []partition
	// max is how many members may be unavailable, and maxBad is how many partitions may be bad.
	// maxNew is how many members may be created for the first time at once.
	max, maxBad, maxNew int
}

// partition is a part of a rollout. It is bad while more than max of its members are
// unavailable or not as wanted.
type partition struct {
	name    string
	members []int
	max     int
}

func newRollout(steps []Step, members []int) (*rollout, error) {
	strategy := *steps[members[0]].Deployment.Bundle.Definition.RolloutStrategy
	slices.SortFunc(members, func(a, b int) int { return cmp.Compare(steps[a].Deployment.Cluster, steps[b].Deployment.Cluster) })
	r := &rollout{bundle: steps[members[0]].Deployment.Bundle.Name, members: members, maxNew: defaultMaxNew}
	if strategy.MaxNew != nil {
		r.maxNew = *strategy.MaxNew
	}
	var err error
	if r.max, err = limit(len(members), defaultUnavailable, strategy.MaxUnavailable); err != nil {
		return nil, strategyError("maxUnavailable", err)
	}
	if len(strategy.Partitions) > 0 {
		r.partitions, err = manual(strategy, steps, members)
	} else {
		r.partitions, err = automatic(strategy, members)
	}
	if err != nil {
		return nil, err
	}
	if r.maxBad, err = limit(len(r.partitions), "", strategy.MaxUnavailablePartitions); err != nil {
		return nil, strategyError("maxUnavailablePartitions", err)
	}
	return r, nil
}

// manual returns the partitions that a strategy names. A cluster may be in several.
func manual(strategy fleetyaml.RolloutStrategy, steps []Step, members []int) ([]partition, error) {
	made := make([]partition, len(strategy.Partitions))
	for k, named := range strategy.Partitions {
		made[k].name = cmp.Or(named.Name, strconv.Itoa(k+1))
		for _, i := range members {
			if slices.Contains(steps[i].Deployment.Partitions, k) {
				made[k].members = append(made[k].members, i)
			}
		}
		var err error
		if made[k].max, err = limit(len(made[k].members), defaultUnavailable, named.MaxUnavailable, strategy.MaxUnavailable); err != nil {
			return nil, strategyError(fmt.Sprintf("partitions[%d].maxUnavailable", k), err)
		}
	}
	return made, nil
}

// automatic returns slices of the members as partitions (Fleet's
// internal/cmd/controller/target/partition.go).
func automatic(strategy fleetyaml.RolloutStrategy, members []int) ([]partition, error) {
	threshold := defaultThreshold
	if strategy.AutoPartitionThreshold != nil {
		threshold = *strategy.AutoPartitionThreshold
	}
	size, err := limit(len(members), defaultPartitionSize, strategy.AutoPartitionSize)
	if err != nil {
		return nil, strategyError("autoPartitionSize", err)
	}
	if size < 1 || threshold <= 0 || len(members) < threshold {
		size = len(members)
	}
	var made []partition
	for slice := range slices.Chunk(members, size) {
		largest, err := limit(len(slice), defaultUnavailable, strategy.MaxUnavailable)
		if err != nil {
			return nil, strategyError("maxUnavailable", err)
		}
		made = append(made, partition{name: strconv.Itoa(len(made) + 1), members: slice, max: largest})
	}
	return made, nil
}

// limit returns the value of the first given count out of total (Fleet's
// internal/cmd/controller/target/status.go). fallback is a percentage, or "" for none at all.
func limit(total int, fallback string, counts ...*fleetyaml.Count) (int, error) {
	if total <= 0 {
		return 1, nil
	}
	given := fleetyaml.Count{Text: fallback}
	if i := slices.IndexFunc(counts, func(c *fleetyaml.Count) bool { return c != nil }); i >= 0 {
		given = *counts[i]
	}
	return given.Of(total)
}

// excludes reports whether a step is in no partition, so that it never begins.
func (r *rollout) excludes(step Step) bool {
	return len(step.Deployment.Bundle.Definition.RolloutStrategy.Partitions) > 0 && len(step.Deployment.Partitions) == 0
}

// partitionOf returns the first partition of a step, nil if there is only one partition.
func (r *rollout) partitionOf(i int) *partition {
	for k := range r.partitions {
		if len(r.partitions) > 1 && slices.Contains(r.partitions[k].members, i) {
			return &r.partitions[k]
		}
	}
	return nil
}

// advance begins the steps that a rollout allows now. When none of its steps runs or waits for
// other bundles any more, the remaining steps are held.
func (r *rollout) advance(at *progress) (begin, held []int) {
	bad := 0
	for k, p := range r.partitions {
		begun, vain, busy := r.advancePartition(at, p)
		begin, held = append(begin, begun...), append(held, vain...)
		if busy {
			return begin, held
		}
		if count(p.members, at.isBehind) <= p.max {
			continue
		}
		if bad++; bad > r.maxBad {
			return begin, append(held, r.stop(at, k)...)
		}
	}
	return begin, append(held, r.stop(at, len(r.partitions))...)
}

// advancePartition begins the steps that are allowed in one partition. busy is true if the next
// partition has to wait for this one. maxUnavailable does not limit a member that is new or already
// unavailable. A ready member counts as unavailable while it changes.
func (r *rollout) advancePartition(at *progress, p partition) (begin, held []int, busy bool) {
	fresh := count(r.members, func(i int) bool { return at.phases[i] == running && at.states[i] == "" })
	all, here := count(r.members, at.isUnavailable), count(p.members, at.isUnavailable)
	for _, i := range p.members {
		if at.phases[i] == running {
			busy = true
		}
		if at.phases[i] != waiting {
			continue
		}
		wait, err := at.unmet(i)
		if err != nil {
			at.hold(i, err)
			held = append(held, i)
			continue
		}
		if wait {
			busy = true
			continue
		}
		switch at.states[i] {
		case "":
			if fresh >= r.maxNew {
				continue
			}
			fresh++
			all++
			here++
		case ready:
			if all >= r.max || here >= p.max {
				continue
			}
			all, here = all+1, here+1
		}
		at.phases[i], busy = running, true
		begin = append(begin, i)
	}
	return begin, held, busy
}

// stop holds the remaining steps of a rollout. The partition at the index last is the reason for
// the steps in the partitions after it.
func (r *rollout) stop(at *progress, last int) []int {
	var held []int
	for k, p := range r.partitions {
		for _, i := range p.members {
			if at.phases[i] != waiting {
				continue
			}
			if k <= last {
				at.hold(i, r.overBudget(at, p, i))
			} else {
				bad := r.partitions[last]
				at.hold(i, &HeldError{Reason: fmt.Sprintf("in partition %s of the rollout of bundle %s, "+
					"%s not ready or not up to date, and at most %d may be",
					bad.name, r.bundle, at.clusters(bad.members, at.isBehind), bad.max)})
			}
			held = append(held, i)
		}
	}
	return held
}

// overBudget returns the limit because of which a member does not begin.
func (r *rollout) overBudget(at *progress, p partition, i int) error {
	if at.states[i] == "" {
		return &HeldError{Reason: fmt.Sprintf("the rollout strategy of bundle %s has a maxNew of %d", r.bundle, r.maxNew)}
	}
	if min(r.max, p.max) == 0 {
		return &HeldError{Reason: fmt.Sprintf("the rollout strategy of bundle %s has a maxUnavailable of 0, "+
			"so ready deployments are not upgraded", r.bundle)}
	}
	where := ""
	counted := r.members
	most := r.max
	if count(r.members, at.isUnavailable) < r.max {
		where = "partition " + p.name + " of "
		counted = p.members
		most = p.max
	}
	return &HeldError{Reason: fmt.Sprintf("in %sthe rollout of bundle %s, %s not ready, "+
		"so maxUnavailable (%d) allows no upgrade of a ready cluster",
		where, r.bundle, at.clusters(counted, at.isUnavailable), most)}
}

// strategyError describes an invalid option of a rollout strategy.
func strategyError(option string, err error) error {
	return fmt.Errorf("rolloutStrategy.%s: %w", option, err)
}
