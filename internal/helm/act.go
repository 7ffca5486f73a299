package helm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Write carries out what was decided for one release. observed is its newest
// record, nil when there is none.
func (c *Client) Write(ctx context.Context, action release.Action, d target.Deployment, observed *release.Observed, w release.Write) (release.Written, error) {
	op, err := c.operation(ctx, d.Namespace)
	if err != nil {
		return release.Written{}, err
	}
	op.masker.Publish(d.Release, d.Cluster)
	op.masker.AddTexts(d.SecretTexts()...)
	written, err := c.write(ctx, op, action, d, observed, w)
	written.NotReady = op.masker.Error(written.NotReady)
	return written, op.masker.Error(err)
}

func (c *Client) write(ctx context.Context, op *operation, action release.Action, d target.Deployment, observed *release.Observed, w release.Write) (written release.Written, err error) {
	if action != release.Keep && action != release.Adopt {
		if d, err = c.withValuesFrom(ctx, op, d); err != nil {
			return release.Written{}, err
		}
	}
	if d.Capabilities != nil {
		op.config.Capabilities = render.Capabilities(*d.Capabilities)
	}
	op.client.ignore = release.RulesOf(d.Options).Ignore
	op.client.release = release.Key(d.Namespace, d.Release)
	op.client.within = d.Options.Namespace
	if w.Known != nil {
		op.client.within = w.Known.TargetNamespace
	}
	if w.Turn != nil && !d.HelmOptions().Atomic { // What is atomic may have all of it to write again.
		op.client.rest = w.Turn.Rest
		op.client.resume = func() error { return w.Turn.Resume(ctx) }
	}
	op.records.until = time.Now().Add(w.Timeout)
	revision := 0
	if observed != nil {
		revision = observed.Revision
	}
	op.records.newest = revision
	if action != release.Keep && action != release.Adopt {
		if err := c.prepare(ctx, op, d, w.Mark, observed); err != nil {
			return release.Written{}, err
		}
	}
	written, err = c.carryOut(ctx, op, action, d, revision, w)
	if err != nil {
		written.Content = op.records.content
		c.namespaces.Delete(d.Namespace) // Its being gone can be the cause.
	}
	return written, err
}

// prepare makes the namespace ready, and meanwhile reads the records that Helm asks for
// first. A damaged one can panic, which the caller's goroutine is guarded against.
func (c *Client) prepare(ctx context.Context, op *operation, d target.Deployment, mark release.Mark, observed *release.Observed) error {
	var making errgroup.Group
	making.Go(func() error { return c.prepareNamespace(ctx, d, mark, observed) })
	op.records.foresee(d.Release) //nolint:contextcheck // the records have it
	return making.Wait()
}

// carryOut does it, once everything is prepared. revision is the newest there is.
func (c *Client) carryOut(ctx context.Context, op *operation, action release.Action, d target.Deployment, revision int, w release.Write) (release.Written, error) {
	switch action {
	case release.Install:
		w.Mark.Revision = revision + 1
		return c.brought(c.install(ctx, op, d, w))
	case release.Recover:
		if err := op.interrupt(d.Release, revision); err != nil {
			return release.Written{}, err
		}
		fallthrough
	case release.Upgrade:
		w.Mark.Revision = revision + 1
		return c.brought(c.upgrade(ctx, op, d, w))
	case release.Keep, release.Adopt:
		w.Mark.Revision = revision
		return c.adopt(ctx, op, d, w)
	case release.Uninstall:
	}
	return release.Written{}, fmt.Errorf("release %s cannot be written by the action %s", d.Release, action)
}

// brought looks whether what was written changes what the cluster can do. What comes
// after it, as a bundle that depends on it, is to be rendered for that.
func (c *Client) brought(written release.Written, err error) (release.Written, error) {
	if slices.ContainsFunc(written.Rendering.Objects, func(o release.Object) bool { return manifest.ChangesKinds(o.Kind) }) {
		c.forgetKinds()
	}
	return written, err
}

// install makes the first revision of a release.
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
	install.Force = options.Force || replacesDrift(d)
	takes := w.TakeOwnership || options.TakeOwnership
	install.TakeOwnership = takes || len(w.Former) > 0
	install.Description = w.Description
	install.Labels = labelsOf(w.Mark)
	install.PostRenderer = learning{masker: op.masker, next: definer{ctx: ctx, client: c, op: op, d: d, timeout: w.Timeout, next: postRendererFor(d)}}
	for _, file := range loaded.CRDObjects() { // They can be of any kind.
		learnManifest(op.masker, string(file.File.Data))
	}
	if len(loaded.CRDObjects()) > 0 {
		defer c.forgetCapabilities()
	}
	if !takes && (w.Known == nil || len(w.Former) > 0) {
		op.records.before = func() error { return op.client.refuseExisting(w, w.Known == nil) }
	}
	made, err := install.RunWithContext(context.WithoutCancel(ctx), loaded, render.Values(d))
	if err != nil && op.records.taken && !op.records.created || errors.Is(err, driver.ErrReleaseExists) {
		return release.Written{}, &release.ChangedError{Release: d.Release, Namespace: d.Namespace}
	}
	if err == nil {
		err = op.records.unwritten
	}
	if err != nil {
		failure := op.explain("installing", d, err)
		if op.records.created && made != nil && (isRejected(err) || options.Atomic) {
			failure = errors.Join(failure, c.undo(ctx, op, made, w))
		}
		return release.Written{}, failure
	}
	return op.written(ctx, d, w, made)
}

// isRejected says whether an API server refused an object for what it is, so
// that trying again without a change is of no use.
func isRejected(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code >= http.StatusBadRequest && answer.Status().Code < http.StatusInternalServerError
}

// undo removes what an install has made before it failed, and its record. Objects
// that were there before stay, whoever they belong to: an install can take over
// those of a release whose record was lost, or of one that it moves from.
func (c *Client) undo(ctx context.Context, op *operation, failed *helmrelease.Release, w release.Write) error {
	ctx = context.WithoutCancel(ctx)
	if len(op.client.created) > 0 {
		if err := op.remove(ctx, op.client.created, w.Timeout); err != nil {
			return fmt.Errorf("removing what it made: %w", err)
		}
	}
	if _, err := op.config.Releases.Delete(failed.Name, failed.Version); err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return fmt.Errorf("removing its record: %w", err)
	}
	op.records.content = ""
	_, err := c.leaveNamespace(ctx, release.Observed{Release: failed.Name, Namespace: failed.Namespace, Mark: w.Mark}, w.Mark.Terms, w.Timeout)
	return err
}

// remove deletes objects and returns when they are gone.
func (o *operation) remove(ctx context.Context, objects kube.ResourceList, timeout time.Duration) error {
	if _, errs := o.client.DeleteWithPropagationPolicy(objects, metav1.DeletePropagationBackground); len(errs) > 0 {
		return errors.Join(errs...)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	return o.client.waitGone(ctx, objects)
}

// upgrade makes the next revision of a release.
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
	upgrade.Atomic = options.Atomic && w.Wait
	upgrade.Force = options.Force || replacesDrift(d)
	takes := w.TakeOwnership || options.TakeOwnership
	upgrade.TakeOwnership = takes || len(w.Former) > 0
	upgrade.Description = w.Description
	// Without this Helm takes the old values over when there are no new ones.
	upgrade.ResetValues = true
	upgrade.MaxHistory = w.MaxHistory
	if options.MaxHistory > 0 {
		upgrade.MaxHistory = options.MaxHistory
	}
	upgrade.Labels = labelsOf(w.Mark)
	upgrade.PostRenderer = learning{masker: op.masker, next: definer{ctx: ctx, client: c, op: op, d: d, timeout: w.Timeout, next: postRendererFor(d)}}
	if !takes && len(w.Former) > 0 {
		op.records.before = func() error { return op.client.refuseExisting(w, false) }
	}
	var unsafe error
	if upgrade.Atomic {
		op.records.accept = func(record *helmrelease.Release) error {
			if !w.Known.Trusts(recordOf(record).content()) {
				unsafe = &UntrustedRecordError{Name: recordName(record.Name, record.Version)}
			}
			return unsafe
		}
	}
	made, err := upgrade.RunWithContext(context.WithoutCancel(ctx), d.Release, loaded, render.Values(d))
	if err != nil {
		err = op.explain("upgrading", d, err)
		if unsafe != nil && !errors.Is(err, unsafe) {
			err = fmt.Errorf("%w; it was not rolled back: %w", err, unsafe)
		}
		return release.Written{}, err
	}
	return op.written(ctx, d, w, made)
}

// interrupt marks a revision whose operation was cut short as failed, which
// Helm wants before it goes on.
func (o *operation) interrupt(name string, revision int) error {
	record, err := o.config.Releases.Get(name, revision)
	if err != nil {
		return fmt.Errorf("reading revision %d of release %s: %w", revision, name, err)
	}
	record.SetStatus(helmrelease.StatusFailed, "Interrupted as "+record.Info.Status.String())
	if err := o.config.Releases.Update(record); err != nil {
		return fmt.Errorf("marking revision %d of release %s as failed: %w", revision, name, err)
	}
	return nil
}

// adopt changes the mark of a record and nothing else.
func (c *Client) adopt(ctx context.Context, op *operation, d target.Deployment, w release.Write) (release.Written, error) {
	change, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labelsOf(w.Mark)}})
	if err != nil {
		return release.Written{}, fmt.Errorf("writing labels: %w", err)
	}
	secrets, err := c.secrets(d.Namespace)
	if err != nil {
		return release.Written{}, err
	}
	name := recordName(d.Release, w.Mark.Revision)
	if _, err := secrets.Patch(ctx, name, types.MergePatchType, change, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
		return release.Written{}, fmt.Errorf("marking the record %s: %w", name, err)
	}
	record, err := op.config.Releases.Get(d.Release, w.Mark.Revision)
	if err != nil {
		return release.Written{}, fmt.Errorf("reading revision %d of release %s: %w", w.Mark.Revision, d.Release, err)
	}
	w.Wait = false
	written, err := op.written(ctx, d, w, record)
	if w.Known != nil && w.Known.Content != "" {
		written.Content = w.Known.Content // To find another one there does not make it trusted.
	}
	return written, err
}

// chart renders the chart of a deployment for this cluster.
func (c *Client) chart(ctx context.Context, op *operation, d target.Deployment, revision int, upgrade bool) (*chart.Chart, error) {
	mapper, err := c.getter.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("reading the kinds of the cluster: %w", err)
	}
	able := op.config.Capabilities
	made, err := c.charts.Chart(ctx, d, render.Revision{
		Capabilities: target.Capabilities{
			Version: able.KubeVersion.Version, Major: able.KubeVersion.Major, Minor: able.KubeVersion.Minor, APIs: able.APIVersions,
		},
		Number: revision, Upgrade: upgrade,
	}, c.learningLookup(op.masker), mapper)
	op.records.rendered = made
	return made.Rendered, err
}

// explain prefers the error of a wait, which Helm keeps as text only.
func (o *operation) explain(doing string, d target.Deployment, err error) error {
	if o.client.waitErr != nil && !errors.Is(err, o.client.waitErr) {
		err = o.client.waitErr
	}
	err = fmt.Errorf("%s release %s in namespace %s: %w", doing, d.Release, d.Namespace, o.client.requests.withCause(err))
	if d.Capabilities == nil {
		return err
	}
	if gone := lost(*d.Capabilities, o.able); len(gone) > 0 {
		err = &LostAPIsError{APIs: gone, Err: err}
	}
	return err
}

// written says what a record holds and whether its objects are ready.
func (o *operation) written(ctx context.Context, d target.Deployment, w release.Write, record *helmrelease.Release) (release.Written, error) {
	o.keep(record)
	parsed, err := manifest.Parse([]byte(record.Manifest))
	if err != nil {
		return release.Written{}, fmt.Errorf("reading the rendered manifest: %w", err)
	}
	listed, err := manifest.List(parsed, d.Namespace, d.Digest)
	if err != nil {
		return release.Written{}, err
	}
	if d.HidesContent() {
		manifest.HideContent(listed, d.Digest)
	}
	w.Mark.Revision = record.Version
	written := release.Written{
		Observed: release.Observed{
			Release:   record.Name,
			Namespace: record.Namespace,
			Revision:  record.Version,
			Status:    release.Status(record.Info.Status),
			Mark:      w.Mark,
		},
		Rendering: release.Rendering{
			Chart:   record.Chart.Name(),
			Version: record.Chart.Metadata.Version,
			Objects: listed,
		},
		Content: recordOf(record).content(),
	}
	if !w.Wait {
		written.NotReady, err = o.look(ctx, record, d.HelmOptions().WaitForJobs)
	}
	return written, err
}

// look asks once whether the objects of a record are ready, the API server only of those
// that it did not answer with when they were written.
func (o *operation) look(ctx context.Context, record *helmrelease.Release, jobs bool) (notReady, err error) {
	built := o.client.written
	if built == nil {
		if built, err = o.client.Build(strings.NewReader(record.Manifest), false); err != nil {
			return nil, fmt.Errorf("reading the objects of release %s: %w", record.Name, err)
		}
	}
	return o.client.objects.Ready(ctx, built, release.Readiness{Jobs: jobs, Ignore: o.client.ignore}), nil
}

// replacesDrift says whether objects that cannot be changed back are replaced.
func replacesDrift(d target.Deployment) bool {
	return d.Options.CorrectDrift != nil && d.Options.CorrectDrift.Force
}
