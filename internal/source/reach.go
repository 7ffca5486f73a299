package source

import (
	"context"
	"fmt"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
)

// within returns a context for fetches that the content of the source causes. Options of a bundle that
// are not read from files are part of the configuration. So the configuration gives their chart, and
// the chart names its dependencies.
func (s Spec) within(ctx context.Context) (context.Context, error) {
	reach := fetch.Reach{Configured: s.Definition != nil}
	if s.Git != nil {
		reach.Repository = s.Git.Repo
	}
	if s.Sources != nil {
		patterns, err := policy.NewSources(s.Sources)
		if err != nil {
			return nil, fmt.Errorf("sources: %w", err)
		}
		reach.Sources = patterns
	}
	return fetch.WithReach(ctx, reach), nil
}
