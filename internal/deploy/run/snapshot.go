package run

import (
	"context"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// PrefetchSnapshot lists the releases of a cluster before a write, or before a write is planned.
// At the same time it reads the capabilities that the write needs, because requests to a distant
// cluster take long. It ignores an error of that request: the write reports it.
func PrefetchSnapshot(ctx context.Context, cluster Observer) (release.Snapshot, error) {
	aside, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var asking sync.WaitGroup
	asking.Go(func() {
		_ = panics.Recovering("reading the capabilities of the cluster", func() error {
			_, err := cluster.Capabilities(aside)
			return err
		})()
	})
	snapshot, err := cluster.Snapshot(ctx)
	if err != nil {
		giveUp()
	}
	asking.Wait()
	return snapshot, err
}

// snapshot lists the releases of a cluster.
func (r *Runner) snapshot(ctx context.Context, name string) (Cluster, release.Snapshot, error) {
	return r.snapshotBy(ctx, name, func(ctx context.Context, cluster Observer) (release.Snapshot, error) { return cluster.Snapshot(ctx) })
}

func (r *Runner) prefetchSnapshot(ctx context.Context, name string) (Cluster, release.Snapshot, error) {
	return r.snapshotBy(ctx, name, PrefetchSnapshot)
}

func (r *Runner) snapshotBy(ctx context.Context, name string, by func(context.Context, Observer) (release.Snapshot, error)) (Cluster, release.Snapshot, error) {
	cluster, err := r.clusters(name)
	if err != nil {
		return nil, release.Snapshot{}, err
	}
	slot, err := r.acquire(ctx)
	if err != nil {
		return nil, release.Snapshot{}, err
	}
	defer slot.Pause()
	snapshot, err := by(ctx, cluster)
	return cluster, snapshot, err
}
