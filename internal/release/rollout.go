package release

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
		return nil, &RolloutError{Option: "maxUnavailable", Err: err}
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
		return nil, &RolloutError{Option: "maxUnavailablePartitions", Err: err}
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
			return nil, &RolloutError{Option: fmt.Sprintf("partitions[%d].maxUnavailable", k), Err: err}
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
		return nil, &RolloutError{Option: "autoPartitionSize", Err: err}
	}
	if size < 1 || threshold <= 0 || len(members) < threshold {
		size = len(members)
	}
	var made []partition
	for slice := range slices.Chunk(members, size) {
		largest, err := limit(len(slice), defaultUnavailable, strategy.MaxUnavailable)
		if err != nil {
			return nil, &RolloutError{Option: "maxUnavailable", Err: err}
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

// leavesOut says whether a step is in no partition. It is never begun then.
func (r *rollout) leavesOut(step Step) bool {
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
func (o *Order) advance(r *rollout) (begin, held []int) {
	bad := 0
	for k, p := range r.partitions {
		begun, vain, busy := o.advancePartition(r, p)
		begin, held = append(begin, begun...), append(held, vain...)
		if busy {
			return begin, held
		}
		if o.count(p.members, o.isBehind) <= p.max {
			continue
		}
		if bad++; bad > r.maxBad {
			return begin, append(held, o.stop(r, k)...)
		}
	}
	return begin, append(held, o.stop(r, len(r.partitions))...)
}

// advancePartition begins what is allowed of one partition. busy says that the next
// one has to wait for it. A member that is new, or unavailable anyway, makes nothing
// worse; one that is available counts as unavailable while it changes.
func (o *Order) advancePartition(r *rollout, p partition) (begin, held []int, busy bool) {
	fresh := o.count(r.members, func(i int) bool { return o.phases[i] == running && o.states[i] == "" })
	all, here := o.count(r.members, o.isUnavailable), o.count(p.members, o.isUnavailable)
	for _, i := range p.members {
		if o.phases[i] == running {
			busy = true
		}
		if o.phases[i] != waiting {
			continue
		}
		wait, err := o.unmet(i)
		if err != nil {
			o.hold(i, err)
			held = append(held, i)
			continue
		}
		if wait {
			busy = true
			continue
		}
		switch o.states[i] {
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
		o.phases[i], busy = running, true
		begin = append(begin, i)
	}
	return begin, held, busy
}

func (o *Order) count(steps []int, counts func(int) bool) int {
	n := 0
	for _, i := range steps {
		if counts(i) {
			n++
		}
	}
	return n
}

// isUnavailable says whether a step cannot serve now. One that is not there and was
// not begun does not count, and neither does one that somebody modified and that is to
// stay so.
func (o *Order) isUnavailable(i int) bool {
	if o.phases[i] == running && o.outdated[i] {
		return true
	}
	switch o.states[i] {
	case "", ready:
		return false
	case modified:
		return o.outdated[i]
	}
	return true
}

// isBehind is stricter: what is not as wanted counts, too.
func (o *Order) isBehind(i int) bool { return o.outdated[i] || o.isUnavailable(i) }

// stop holds what is left of a rollout. The partitions after the one at the given
// index are held because of it.
func (o *Order) stop(r *rollout, at int) []int {
	var held []int
	for k, p := range r.partitions {
		for _, i := range p.members {
			if o.phases[i] != waiting {
				continue
			}
			if k <= at {
				o.hold(i, o.overBudget(r, p, i))
			} else {
				bad := r.partitions[at]
				o.hold(i, &HeldError{Reason: fmt.Sprintf("in partition %s of the rollout of bundle %s, %s not ready or not as wanted, and at most %d may be",
					bad.name, r.bundle, o.clusters(bad.members, o.isBehind), bad.max)})
			}
			held = append(held, i)
		}
	}
	return held
}

// overBudget says which limit keeps a member from being begun.
func (o *Order) overBudget(r *rollout, p partition, i int) error {
	if o.states[i] == "" {
		return &HeldError{Reason: fmt.Sprintf("the rollout strategy of bundle %s has a maxNew of %d", r.bundle, r.maxNew)}
	}
	if min(r.max, p.max) == 0 {
		return &HeldError{Reason: fmt.Sprintf("the rollout strategy of bundle %s has a maxUnavailable of 0, which leaves alone what is ready", r.bundle)}
	}
	where, counted, most := "", r.members, r.max
	if o.count(r.members, o.isUnavailable) < r.max {
		where, counted, most = "partition "+p.name+" of ", p.members, p.max
	}
	return &HeldError{Reason: fmt.Sprintf("of %sthe rollout of bundle %s, %s not ready, and maxUnavailable allows %d",
		where, r.bundle, o.clusters(counted, o.isUnavailable), most)}
}

// clusters names the clusters of some steps as the beginning of a sentence: "a and 3
// others are".
func (o *Order) clusters(steps []int, counts func(int) bool) string {
	var names []string
	for _, i := range steps {
		if counts(i) {
			names = append(names, o.steps[i].Deployment.Cluster)
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

// RolloutError says what is wrong with a rollout strategy.
type RolloutError struct {
	Option string
	Err    error
}

func (e *RolloutError) Error() string { return fmt.Sprintf("rolloutStrategy.%s: %v", e.Option, e.Err) }

// Unwrap gives the cause.
func (e *RolloutError) Unwrap() error { return e.Err }
