package helm

import (
	"context"
	"errors"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// StoredRenderings returns the renderings of releases from their records. If values came from
// Secrets, the content of the objects is hidden.
func (c *Client) StoredRenderings(ctx context.Context, observed []release.Observed) ([]release.Rendering, error) {
	inspections := make([]release.Inspection, len(observed)) // Without proofs, because the content is only shown.
	for i := range observed {
		inspections[i].Observed = observed[i]
	}
	read := c.contents.read(ctx, inspections)
	recalled := make([]release.Rendering, len(read))
	errs := make([]error, len(read))
	for i, record := range read {
		if errs[i] = record.Err; record.Err != nil {
			continue
		}
		digest := observed[i].Mark.Digest
		made := release.Rendering{Chart: record.Chart, Version: record.Version}
		made.Objects, errs[i] = manifest.List(record.Objects, observed[i].Namespace, digest)
		if !observed[i].Mark.UninstallPolicy.OwnValues {
			manifest.HideContent(made.Objects, digest)
		}
		recalled[i] = made
	}
	return recalled, errors.Join(errs...)
}
