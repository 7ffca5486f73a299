package run

import (
	"context"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Versions reads the versions of the objects that values come from, by cluster. Clusters that
// cannot be read are missing in the result; Observe reports them to the caller.
func (r *Runner) Versions(ctx context.Context, references map[string][]target.Reference) map[string]deploy.Versions {
	return queryClusters(slices.Collect(maps.Keys(references)), func(name string) (deploy.Versions, error) { return r.versions(ctx, name, references[name]) })
}

func (r *Runner) versions(ctx context.Context, name string, references []target.Reference) (deploy.Versions, error) {
	cluster, err := r.clusters(name)
	if err != nil {
		return nil, err
	}
	slot, err := r.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer slot.Pause()
	return cluster.Versions(ctx, references)
}
