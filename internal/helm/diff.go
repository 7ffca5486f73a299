package helm

import (
	"context"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Deployed reads what releases are made of from their records, in their order. Its
// error means that none was read.
func (c *Client) Deployed(ctx context.Context, releases []release.Observed) ([]release.Deployed, error) {
	read, err := c.contents.read(ctx, releases)
	if err != nil {
		return nil, err
	}
	found := make([]release.Deployed, len(releases))
	for i, content := range read {
		if found[i].Err = content.err; content.err == nil {
			found[i].Documents, found[i].Err = manifest.Documents(content.objects, content.hooks, releases[i].Namespace)
		}
	}
	return found, nil
}
