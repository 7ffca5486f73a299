package helm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Write carries out the action that was decided for one release. observed is its newest
// record, nil if there is none. It hides secret values in the errors of writeUnmasked.
func (c *Client) Write(
	ctx context.Context, action release.Action, d target.Deployment, observed *release.Observed, w release.Write,
) (release.Written, error) {
	revision := 0
	if observed != nil {
		revision = observed.Revision
	}
	var op *operation
	op, err := c.begin(ctx, d.Namespace, settingsOf(d, observed, w), storage.Options{
		By: w.Claimant(), Newest: revision, Until: time.Now().Add(w.Timeout),
		Create: func(record *helmrelease.Release) error { return op.completeRecord(ctx, record, action, d, w) },
	})
	if err != nil {
		return release.Written{}, err
	}
	op.masker.Publish(d.Release, d.Cluster)
	op.masker.AddTexts(d.SecretTexts()...)
	written, err := c.writeUnmasked(ctx, op, action, d, observed, revision, w)
	written.NotReady = op.masker.Error(written.NotReady)
	return written, op.masker.Error(err)
}

func (c *Client) writeUnmasked(
	ctx context.Context, op *operation, action release.Action, d target.Deployment, observed *release.Observed, revision int, w release.Write,
) (written release.Written, err error) {
	if action.Writes() {
		if d, err = withValuesFrom(ctx, c.connection, op.masker, d); err != nil {
			return release.Written{}, err
		}
	}
	if d.Capabilities != nil {
		op.config.Capabilities = render.Capabilities(*d.Capabilities)
	}
	// An operation that is rolled back on failure always waits, as in Helm
	// (pkg/action/upgrade.go, RunWithContext). Otherwise objects that never become ready would
	// cause no rollback.
	w.Wait = w.Wait || d.HelmOptions().Atomic
	if action.Writes() && (w.Check != nil || len(w.Planned) > 0) {
		if err := c.check(ctx, op, action, d, revision, w); err != nil {
			return release.Written{}, err
		}
	}
	if action.Writes() {
		if op.leave, err = c.inUse.enter(ctx, d.Namespace); err != nil {
			return release.Written{}, err
		}
		defer op.leave()
		if err := c.prepare(ctx, op, d, w, observed); err != nil {
			return release.Written{}, err
		}
	}
	written, err = c.run(ctx, op, action, d, revision, w)
	if err != nil {
		written.Revision = op.records.Revision
		c.inUse.forget(d.Namespace) // A missing namespace can be the cause.
	}
	return written, err
}

// completeRecord checks the objects of a revision before its record is created, and lets the record
// contain the chart that was rendered, with its hooks.
func (o *operation) completeRecord(
	ctx context.Context, record *helmrelease.Release, action release.Action, d target.Deployment, w release.Write,
) error {
	if action != release.Install {
		if err := refuseImmutable(o.client, d.ReplacesObjects()); err != nil {
			return err
		}
	}
	takes := takesOwnership(d, w)
	isNew := action == release.Install && w.Known == nil
	if !takes && (isNew || w.MovesObjects()) {
		if err := o.client.refuseExisting(w, isNew); err != nil {
			return err
		}
	}
	if record.Chart == o.rendered.Bare { // A rollback has another chart.
		record.Chart = o.rendered.Recorded
		record.Hooks = make([]*helmrelease.Hook, len(o.rendered.Hooks))
		for i, hook := range o.rendered.Hooks {
			record.Hooks[i] = hook.Hook
		}
	}
	return o.prepareHooks(ctx, record, hookEvents(record.Info.Status), takes)
}

// check renders a deployment before its namespace is created. It compares the objects with those that
// the plan showed, and lets Write.Check refuse them. The same rendering is written later: a second
// rendering could give other objects.
func (c *Client) check(
	ctx context.Context, op *operation, action release.Action, d target.Deployment, revision int, w release.Write,
) error {
	number, isUpgrade := revision+1, action != release.Install
	if !isUpgrade {
		number = 1
	}
	if _, err := c.chart(ctx, op, d, number, isUpgrade); err != nil {
		return op.explain("rendering", d, err)
	}
	if err := checkPlannedObjects(op.rendered.Objects, d, w.Planned); err != nil {
		return err
	}
	if w.Check == nil {
		return nil
	}
	documents, err := op.rendered.Documents(d)
	if err != nil {
		return err
	}
	return w.Check(documents, op.masker.Text)
}

// prepare prepares the namespace and, at the same time, reads the records that Helm reads
// first. A damaged record can cause a panic, from which the caller's goroutine recovers.
func (c *Client) prepare(ctx context.Context, op *operation, d target.Deployment, w release.Write, observed *release.Observed) error {
	var making errgroup.Group
	making.Go(panics.Recovering("preparing the namespace", func() error { return c.prepareNamespace(ctx, d, w, observed) }))
	op.records.PrefetchHistory(d.Release) //nolint:contextcheck // the records have it
	return making.Wait()
}

// run runs the action after everything is prepared. revision is the newest
// revision.
func (c *Client) run(
	ctx context.Context, op *operation, action release.Action, d target.Deployment, revision int, w release.Write,
) (release.Written, error) {
	switch action {
	case release.Install:
		w.Mark.Revision = revision + 1
		return c.refreshCapabilities(c.install(ctx, op, d, w))
	case release.Recover:
		if err := op.interrupt(d.Release, revision); err != nil {
			return release.Written{}, err
		}
		fallthrough
	case release.Upgrade:
		w.Mark.Revision = revision + 1
		return c.refreshCapabilities(c.upgrade(ctx, op, d, w))
	case release.Keep, release.Adopt:
		w.Mark.Revision = revision
		return c.adopt(ctx, op, d, w)
	case release.Uninstall:
	}
	return release.Written{}, fmt.Errorf("release %s cannot be written by the action %s", d.Release, action)
}

// refreshCapabilities reads the capabilities of the cluster again if the written objects can
// change them. Later deployments, such as bundles that depend on this one, are rendered for
// the new capabilities.
func (c *Client) refreshCapabilities(written release.Written, err error) (release.Written, error) {
	if slices.ContainsFunc(written.Rendering.Objects, func(o diff.Object) bool { return manifest.ChangesKinds(o.Kind) }) {
		c.capabilities.forgetKinds()
	}
	return written, err
}

// adopt changes the mark of a record and nothing else. It also makes the codes with the key of the
// target. The content of an imported record has no code that the target can verify, so it stays
// without one.
func (c *Client) adopt(ctx context.Context, op *operation, d target.Deployment, w release.Write) (release.Written, error) {
	record, err := op.config.Releases.Get(d.Release, w.Mark.Revision)
	if err != nil {
		return release.Written{}, fmt.Errorf("reading revision %d of release %s: %w", w.Mark.Revision, d.Release, err)
	}
	w.Mark.UninstallPolicy.OwnValues = w.Mark.UninstallPolicy.OwnValues && storage.MarkOf(record.Labels).UninstallPolicy.OwnValues
	seen := storage.ObservedOf(record)
	by := w.Claimant()
	content := storage.RecordOf(op.records.AsStored(record))
	proof, isProven := by.ProofOf(seen)
	if !by.Trusts(seen) || isProven && seen.Content != "" && !content.Matches(proof, seen) {
		return release.Written{Observed: seen, Untrusted: true}, nil
	}
	marked := seen
	if marked.Mark, marked.Content = w.Mark, ""; isProven && seen.Content != "" {
		marked.Content = content.Code(w.Proof, marked)
	}
	labels := storage.ProvenLabels(marked, w.Proof)
	if err := c.records.mark(ctx, d.Namespace, d.Release, w.Mark.Revision, labels); err != nil {
		return release.Written{}, err
	}
	maps.Copy(record.Labels, labels)
	w.Wait = false
	return op.written(ctx, d, w, record)
}

// chart renders the chart of a deployment for this cluster, once.
func (c *Client) chart(ctx context.Context, op *operation, d target.Deployment, revision int, upgrade bool) (*chart.Chart, error) {
	if checked := op.rendered.Bare; checked != nil {
		return checked, nil
	}
	capabilities := op.config.Capabilities
	made, err := c.charts.Chart(ctx, d, render.Revision{
		Capabilities: target.Capabilities{
			Version: capabilities.KubeVersion.Version, Major: capabilities.KubeVersion.Major, Minor: capabilities.KubeVersion.Minor,
			APIs: capabilities.APIVersions,
		},
		Number: revision, Upgrade: upgrade,
	}, collectSecretsOfLookup(c.connection, op.masker), c.connection.Mapper())
	if err != nil {
		return nil, err
	}
	op.rendered = made
	op.client.checked.Add(made.Written)
	op.masker.Add(made.HiddenTexts...)
	for _, document := range made.Written { // An API server that refuses an object can quote it.
		op.masker.AddSecret(document.Object.Object)
	}
	return made.Bare, nil
}

// markOfRendering returns the mark of a revision whose objects were rendered. Values that templates
// have looked up are not those of the deployment.
func (o *operation) markOfRendering(mark release.Mark) release.Mark {
	if o.rendered.ReadsForeign {
		mark.UninstallPolicy.OwnValues = false
	}
	return mark
}
