package helm

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// install creates the first revision of a release.
func (c *Client) install(ctx context.Context, op *operation, d target.Deployment, w release.Write) (release.Written, error) {
	loaded, err := c.chart(ctx, op, d, 1, false)
	if err != nil {
		return release.Written{}, op.explain("installing", d, err)
	}
	options := d.HelmOptions()
	install := action.NewInstall(op.config)
	install.ReleaseName = d.Release
	install.Namespace = d.Namespace
	install.Replace = true
	install.Wait = w.Wait
	install.WaitForJobs = options.WaitForJobs
	install.Timeout = w.Timeout
	install.Force = d.ReplacesObjects()
	install.TakeOwnership = takesOwnership(d, w) || w.MovesObjects()
	install.Description = w.Description
	install.Labels = storage.Labels(op.markOfRendering(w.Mark))
	install.PostRenderer = c.manifestWriter(ctx, op, d, w)
	if len(loaded.CRDObjects()) > 0 {
		defer c.capabilities.forget()
	}
	install.SkipCRDs = options.CRDs == fleetyaml.CRDsSkip
	if options.CRDs == fleetyaml.CRDsCreateReplace {
		if err := c.replaceDefinitions(ctx, op, d, loaded, w); err != nil {
			return release.Written{}, op.explain("installing", d, err)
		}
	}
	made, err := install.RunWithContext(context.WithoutCancel(ctx), loaded, d.PlainValues())
	if err != nil && op.records.Taken && !op.records.Created || errors.Is(err, driver.ErrReleaseExists) {
		return release.Written{}, &release.ChangedError{Release: d.Release, Namespace: d.Namespace}
	}
	if err == nil {
		err = op.records.Unwritten
	}
	if err != nil {
		failure := op.explain("installing", d, err)
		if op.records.Created && made != nil && (storage.IsRejected(err) || options.Atomic) {
			failure = errors.Join(failure, c.undo(ctx, op, made, w))
		}
		if !op.records.Created && storage.IsRejected(err) {
			failure = errors.Join(failure, op.removeMade(ctx, w.Timeout))
		}
		return release.Written{}, failure
	}
	return op.written(ctx, d, w, made)
}

// undo removes what a failed install has created, and its record. Objects that existed before
// stay, with any owner. An install can adopt objects of a release whose record was lost, or of
// a release that it moves from.
func (c *Client) undo(ctx context.Context, op *operation, failed *helmrelease.Release, w release.Write) error {
	ctx = context.WithoutCancel(ctx)
	if err := op.removeMade(ctx, w.Timeout); err != nil {
		return err
	}
	if _, err := op.config.Releases.Delete(failed.Name, failed.Version); err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return fmt.Errorf("removing its record: %w", err)
	}
	op.leave()
	observed := release.Observed{Release: failed.Name, Namespace: failed.Namespace, Mark: w.Mark}
	_, err := c.leaveNamespace(ctx, observed, w.Mark.UninstallPolicy, w.NamespaceUsedBy, w.Timeout)
	return err
}
