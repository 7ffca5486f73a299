package helm

import (
	"context"
	"errors"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Recall answers what releases were rendered to, as their records tell. Where values
// came from Secrets, nothing shows of what is in the objects.
func (c *Client) Recall(ctx context.Context, observed []release.Observed) ([]release.Rendering, error) {
	read, err := c.manifests(ctx, observed)
	if err != nil {
		return nil, err
	}
	renderings := make([]release.Rendering, len(read))
	errs := make([]error, len(read))
	for i, record := range read {
		if errs[i] = record.err; record.err != nil {
			continue
		}
		digest := observed[i].Mark.Digest
		renderings[i] = release.Rendering{Chart: record.chart, Version: record.version}
		renderings[i].Objects, errs[i] = listObjects(record.objects, observed[i].Namespace, digest)
		if !observed[i].Mark.Terms.OwnValues {
			hide(renderings[i].Objects, digest)
		}
	}
	return renderings, errors.Join(errs...)
}
