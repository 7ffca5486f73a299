package helm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Deployed reads what releases are made of from their records, in their order. Its
// error means that none was read.
func (c *Client) Deployed(ctx context.Context, releases []release.Observed) ([]release.Deployed, error) {
	read, err := c.contents.read(ctx, unverified(releases))
	if err != nil {
		return nil, err
	}
	found := make([]release.Deployed, len(releases))
	for i, content := range read {
		if found[i].Err = content.err; content.err == nil {
			found[i], found[i].Err = deployed(content, releases[i].Namespace)
		}
	}
	return found, nil
}

func deployed(content recordContent, namespace string) (release.Deployed, error) {
	documents, err := manifest.Documents(content.objects, content.hooks, namespace)
	if err != nil {
		return release.Deployed{}, err
	}
	found := release.Deployed{Documents: documents}
	if len(content.values) > 0 {
		if err := json.Unmarshal(content.values, &found.Values); err != nil {
			return release.Deployed{}, fmt.Errorf("reading the values in the release record: %w", err)
		}
	}
	return found, nil
}
