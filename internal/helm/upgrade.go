package helm

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/action"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// upgrade creates the next revision of a release.
func (c *Client) upgrade(ctx context.Context, op *operation, d target.Deployment, w release.Write) (release.Written, error) {
	loaded, err := c.chart(ctx, op, d, w.Mark.Revision, true)
	if err != nil {
		return release.Written{}, op.explain("upgrading", d, err)
	}
	options := d.HelmOptions()
	upgrade := action.NewUpgrade(op.config)
	upgrade.Namespace = d.Namespace
	upgrade.Wait = w.Wait
	upgrade.WaitForJobs = options.WaitForJobs
	upgrade.Timeout = w.Timeout
	upgrade.Atomic = options.Atomic
	upgrade.Force = d.ReplacesObjects()
	upgrade.TakeOwnership = takesOwnership(d, w) || w.MovesObjects()
	upgrade.Description = w.Description
	// Without this, Helm uses the old values again if there are no new ones.
	upgrade.ResetValues = true
	upgrade.MaxHistory = w.MaxHistory
	if options.MaxHistory > 0 {
		upgrade.MaxHistory = options.MaxHistory
	}
	upgrade.Labels = storage.Labels(op.markOfRendering(w.Mark))
	upgrade.PostRenderer = c.manifestWriter(ctx, op, d, w)
	if options.CRDs == fleetyaml.CRDsCreateReplace {
		if err := c.replaceDefinitions(ctx, op, d, loaded, w); err != nil {
			return release.Written{}, op.explain("upgrading", d, err)
		}
	}
	made, err := upgrade.RunWithContext(context.WithoutCancel(ctx), d.Release, loaded, d.PlainValues())
	if err != nil {
		err = op.explain("upgrading", d, err)
		if untrusted := op.records.Untrusted; untrusted != nil && !errors.Is(err, untrusted) {
			err = fmt.Errorf("%w; it was not rolled back: %w", err, untrusted)
		}
		return release.Written{}, err
	}
	return op.written(ctx, d, w, made)
}
