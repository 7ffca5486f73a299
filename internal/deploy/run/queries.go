package run

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Capabilities reads the capabilities of clusters. Clusters that do not respond before ctx ends
// are missing in the result; Observe reports them to the caller.
func (r *Runner) Capabilities(ctx context.Context, clusters []string) map[string]target.Capabilities {
	return queryClusters(clusters, func(name string) (target.Capabilities, error) {
		return query(ctx, r, name, func(c Cluster) (target.Capabilities, error) { return c.Capabilities(ctx) })
	})
}

// Versions reads the versions of the objects that values come from, by cluster. Clusters that
// cannot be read are missing in the result; Observe reports them to the caller.
func (r *Runner) Versions(ctx context.Context, references map[string][]target.Reference) map[string]deploy.Versions {
	return queryClusters(slices.Collect(maps.Keys(references)), func(name string) (deploy.Versions, error) {
		return query(ctx, r, name, func(c Cluster) (deploy.Versions, error) { return c.Versions(ctx, references[name]) })
	})
}

// Snapshots lists the releases of clusters. Clusters that cannot be read are missing in the
// result.
func (r *Runner) Snapshots(ctx context.Context, clusters []string) map[string]release.Snapshot {
	return queryClusters(clusters, func(name string) (release.Snapshot, error) {
		_, snapshot, err := r.snapshot(ctx, name)
		return snapshot, err
	})
}

// queryClusters queries clusters at once. Clusters that cannot be read are missing in the result.
func queryClusters[T any](clusters []string, one func(name string) (T, error)) map[string]T {
	var (
		mu     sync.Mutex
		asking sync.WaitGroup
	)
	found := map[string]T{}
	for _, name := range clusters {
		asking.Go(panics.RecoveringTo(func(error) {}, "reading the cluster", func() {
			answer, err := one(name)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			found[name] = answer
		}))
	}
	asking.Wait()
	return found
}

// query queries a cluster while it has a slot.
func query[T any](ctx context.Context, r *Runner, name string, one func(Cluster) (T, error)) (answer T, err error) {
	cluster, err := r.clusters(name)
	if err != nil {
		return answer, err
	}
	slot, err := r.acquire(ctx)
	if err != nil {
		return answer, err
	}
	defer slot.Pause()
	return one(cluster)
}
