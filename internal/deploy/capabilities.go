package deploy

import (
	"context"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Capabilities reads the capabilities of clusters. Clusters that do not respond before ctx ends
// are missing in the result; Observe reports them to the caller.
func (e *Engine) Capabilities(ctx context.Context, clusters []string) map[string]target.Capabilities {
	return queryClusters(clusters, func(name string) (target.Capabilities, error) { return e.capabilities(ctx, name) })
}

func (e *Engine) capabilities(ctx context.Context, name string) (target.Capabilities, error) {
	cluster, err := e.clusters(name)
	if err != nil {
		return target.Capabilities{}, err
	}
	token, err := e.acquire(ctx)
	if err != nil {
		return target.Capabilities{}, err
	}
	defer token.Pause()
	return cluster.Capabilities(ctx)
}
