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
func (r *Runner) snapshot(ctx context.Context, name string) (cluster Cluster, snapshot release.Snapshot, err error) {
	snapshot, err = query(ctx, r, name, func(c Cluster) (release.Snapshot, error) {
		cluster = c
		return c.Snapshot(ctx)
	})
	return cluster, snapshot, err
}
