package deploy

import (
	"context"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Versions reads the versions of the objects that values come from, by cluster. Clusters that
// cannot be read are missing in the result; Observe reports them to the caller.
func (e *Engine) Versions(ctx context.Context, references map[string][]target.Reference) map[string]Versions {
	return queryClusters(slices.Collect(maps.Keys(references)), func(name string) (Versions, error) { return e.versions(ctx, name, references[name]) })
}

func (e *Engine) versions(ctx context.Context, name string, references []target.Reference) (Versions, error) {
	cluster, err := e.clusters(name)
	if err != nil {
		return nil, err
	}
	token, err := e.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer token.Pause()
	return cluster.Versions(ctx, references)
}
