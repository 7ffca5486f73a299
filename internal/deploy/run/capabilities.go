package run

import (
	"context"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Capabilities reads the capabilities of clusters. Clusters that do not respond before ctx ends
// are missing in the result; Observe reports them to the caller.
func (r *Runner) Capabilities(ctx context.Context, clusters []string) map[string]target.Capabilities {
	return queryClusters(clusters, func(name string) (target.Capabilities, error) { return r.capabilities(ctx, name) })
}

func (r *Runner) capabilities(ctx context.Context, name string) (target.Capabilities, error) {
	cluster, err := r.clusters(name)
	if err != nil {
		return target.Capabilities{}, err
	}
	slot, err := r.acquire(ctx)
	if err != nil {
		return target.Capabilities{}, err
	}
	defer slot.Pause()
	return cluster.Capabilities(ctx)
}
