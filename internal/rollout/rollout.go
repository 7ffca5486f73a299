// Package rollout says in which order the releases of a target are written and removed: after
// what they depend on, and over the clusters as the rollout strategy of their bundle allows.
package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// What a rollout strategy means that does not say otherwise (Fleet's
// internal/cmd/controller/target/target.go).
const (
	defaultUnavailable   = "100%"
	defaultPartitionSize = "25%"
	defaultThreshold     = 200
	defaultMaxNew        = 50
)

// rollout is how one bundle goes over its clusters.
type rollout struct {
	bundle  string
	members []int // Steps, by the name of their cluster.
	// partitions are carried out one after the other.
	partitions []partition
	// max is how many members may be unavailable, maxBad how many partitions, and
	// maxNew how many members may be made for the first time at once.
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
		return nil, &StrategyError{Option: "maxUnavailable", Err: err}
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
		return nil, &StrategyError{Option: "maxUnavailablePartitions", Err: err}
	}
	return r, nil
}

// manual are the partitions that a strategy names. A cluster may be in several.
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
			return nil, &StrategyError{Option: fmt.Sprintf("partitions[%d].maxUnavailable", k), Err: err}
		}
	}
	return made, nil
}

// automatic partitions are slices of the members (Fleet's
// internal/cmd/controller/target/partition.go).
func automatic(strategy fleetyaml.RolloutStrategy, members []int) ([]partition, error) {
	threshold := defaultThreshold
	if strategy.AutoPartitionThreshold != nil {
		threshold = *strategy.AutoPartitionThreshold
	}
	size, err := limit(len(members), defaultPartitionSize, strategy.AutoPartitionSize)
	if err != nil {
		return nil, &StrategyError{Option: "autoPartitionSize", Err: err}
	}
	if size < 1 || threshold <= 0 || len(members) < threshold {
		size = len(members)
	}
	var made []partition
	for slice := range slices.Chunk(members, size) {
		largest, err := limit(len(slice), defaultUnavailable, strategy.MaxUnavailable)
		if err != nil {
			return nil, &StrategyError{Option: "maxUnavailable", Err: err}
		}
		made = append(made, partition{name: strconv.Itoa(len(made) + 1), members: slice, max: largest})
	}
	return made, nil
}

// limit is what the first count that is given means out of total (Fleet's
// internal/cmd/controller/target/status.go). fallback is a percentage, or "" for none
// at all.
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

// excludes says whether a step is in no partition. It is never begun then.
func (r *rollout) excludes(step Step) bool {
	return len(step.Deployment.Bundle.Definition.RolloutStrategy.Partitions) > 0 && len(step.Deployment.Partitions) == 0
}

// partitionOf is the partition in which a step comes first, nil if there is only one.
func (r *rollout) partitionOf(i int) *partition {
	for k := range r.partitions {
		if len(r.partitions) > 1 && slices.Contains(r.partitions[k].members, i) {
			return &r.partitions[k]
		}
	}
	return nil
}

// advance begins what a rollout allows now. When nothing of it runs or waits for
// other bundles any more, what is left is held.
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

// advancePartition begins what is allowed of one partition. busy says that the next
// one has to wait for it. A member that is new, or unavailable anyway, makes nothing
// worse; one that is available counts as unavailable while it changes.
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
			fresh, all, here = fresh+1, all+1, here+1
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

// stop holds what is left of a rollout. The partitions after the one at the given
// index are held because of it.
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
				at.hold(i, &HeldError{Reason: fmt.Sprintf("in partition %s of the rollout of bundle %s, %s not ready or not up to date, and at most %d may be",
					bad.name, r.bundle, at.clusters(bad.members, at.isBehind), bad.max)})
			}
			held = append(held, i)
		}
	}
	return held
}

// overBudget says which limit keeps a member from being begun.
func (r *rollout) overBudget(at *progress, p partition, i int) error {
	if at.states[i] == "" {
		return &HeldError{Reason: fmt.Sprintf("the rollout strategy of bundle %s has a maxNew of %d", r.bundle, r.maxNew)}
	}
	if min(r.max, p.max) == 0 {
		return &HeldError{Reason: fmt.Sprintf("the rollout strategy of bundle %s has a maxUnavailable of 0, so ready deployments are not upgraded", r.bundle)}
	}
	where, counted, most := "", r.members, r.max
	if count(r.members, at.isUnavailable) < r.max {
		where, counted, most = "partition "+p.name+" of ", p.members, p.max
	}
	return &HeldError{Reason: fmt.Sprintf("of %sthe rollout of bundle %s, %s not ready, and maxUnavailable allows %d",
		where, r.bundle, at.clusters(counted, at.isUnavailable), most)}
}

// StrategyError says what is wrong with a rollout strategy.
type StrategyError struct {
	Option string
	Err    error
}

func (e *StrategyError) Error() string { return fmt.Sprintf("rolloutStrategy.%s: %v", e.Option, e.Err) }

// Unwrap gives the cause.
func (e *StrategyError) Unwrap() error { return e.Err }
