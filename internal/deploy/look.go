package deploy

import (
	"context"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// look lists the releases of a cluster.
func (e *Engine) look(ctx context.Context, name string) (Cluster, release.Snapshot, error) {
	return e.lookAnd(ctx, name, func(context.Context, Cluster) {})
}

// lookAhead is a look before operations on objects. What those have to know of the
// cluster it learns at the same time, as there can be a long way to it; why that failed
// they say themselves.
func (e *Engine) lookAhead(ctx context.Context, name string) (Cluster, release.Snapshot, error) {
	return e.lookAnd(ctx, name, func(ctx context.Context, cluster Cluster) { _, _ = cluster.Capabilities(ctx) })
}

// lookAnd does something beside a look, for as long as that can come to something.
func (e *Engine) lookAnd(ctx context.Context, name string, beside func(context.Context, Cluster)) (Cluster, release.Snapshot, error) {
	cluster, err := e.clusters(name)
	if err != nil {
		return nil, release.Snapshot{}, err
	}
	slot, err := e.slot(ctx)
	if err != nil {
		return nil, release.Snapshot{}, err
	}
	defer slot.Pause()
	aside, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var asking sync.WaitGroup
	asking.Go(func() { beside(aside, cluster) })
	snapshot, err := cluster.Look(ctx)
	if err != nil {
		giveUp()
	}
	asking.Wait()
	return cluster, snapshot, err
}
