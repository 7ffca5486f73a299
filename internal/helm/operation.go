package helm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmstorage "helm.sh/helm/v3/pkg/storage"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery/cached/memory"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// operation is what one Helm action on one namespace needs. Helm changes parts of it during
// the action, so each action gets its own.
type operation struct {
	config       *action.Configuration
	client       *kubeClient
	records      *storage.Driver
	masker       *mask.Masker
	keep         func(*helmrelease.Release)
	capabilities *chartutil.Capabilities // of the cluster, even if a chart is rendered with others
	// rendered is the rendered chart that Helm gets, zero until something is rendered.
	rendered render.Chart
	// leave ends the use of the namespace by this operation. See namespaces.enter.
	leave func()
}

// begin starts an operation on a namespace. It reads the capabilities of the cluster unless
// they are known. It adds to records what the cluster decides.
func (c *Client) begin(ctx context.Context, namespace string, how settings, records storage.Options) (*operation, error) {
	capabilities, err := c.capabilities.read(ctx)
	if err != nil {
		return nil, err
	}
	silent := func(string, ...any) {}
	masker := c.masker.For()
	masker.Publish(namespace)
	noted, cache := &requestErrors{}, &responseCache{existing: c.connection.Existing}
	requester, err := newRequester(c.connection, func(next http.RoundTripper) http.RoundTripper {
		return errorRecorder{next: cachingTransport{next: next, cache: cache, ctx: ctx}, requests: noted, masker: masker, ctx: ctx}
	})
	if err != nil {
		return nil, err
	}
	client := &kubeClient{
		Client:    &kube.Client{Factory: c.connection.factory, Namespace: namespace, Log: silent},
		settings:  how,
		ctx:       ctx,
		cluster:   c.connection,
		requester: requester,
		masker:    masker,
		requests:  noted,
		cache:     cache,
		deleted:   map[*resource.Info]bool{},
		changed:   map[*resource.Info]bool{},
		targets:   map[*resource.Info]bool{},
		hooks:     newHookObjects(),
	}
	op := &operation{client: client, masker: masker, keep: c.contents.keep, capabilities: capabilities.capabilities}
	records.Masker, records.Checked, records.Serves = masker, &client.checked, op.serves
	secrets := c.connection.Typed().CoreV1().Secrets(namespace)
	op.records = storage.NewDriver(ctx, secrets, c.connection.secrets(namespace), namespace, records)
	op.config = &action.Configuration{
		RESTClientGetter: c.connection,
		KubeClient:       client,
		Releases:         helmstorage.Init(op.records),
		Capabilities:     capabilities.capabilities.Copy(),
		Log:              silent,
		HookOutputFunc:   func(_, _, _ string) io.Writer { return io.Discard },
	}
	return op, nil
}

// interrupt marks a revision whose operation was interrupted as failed. Helm requires that
// before the next operation.
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

// removeMade removes the objects that the operation has created. Definitions are created
// before the record.
func (o *operation) removeMade(ctx context.Context, timeout time.Duration) error {
	if len(o.client.created) == 0 {
		return nil
	}
	if err := o.remove(ctx, o.client.created, timeout); err != nil {
		return fmt.Errorf("removing the objects that it created: %w", err)
	}
	return nil
}

// remove deletes objects and returns when they no longer exist.
func (o *operation) remove(ctx context.Context, objects kube.ResourceList, timeout time.Duration) error {
	if _, errs := o.client.DeleteWithPropagationPolicy(objects, metav1.DeletePropagationBackground); len(errs) > 0 {
		return errors.Join(errs...)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	return o.client.waitDeleted(ctx, objects)
}

// explain returns the error of a failed operation with its cause. It prefers the error of a
// wait, of which Helm keeps only the text.
func (o *operation) explain(doing string, d target.Deployment, err error) error {
	if o.client.waitErr != nil && !errors.Is(err, o.client.waitErr) {
		err = o.client.waitErr
	}
	err = status.Named(o.client.requests.withCause(err), doing+" release %s in namespace %s", d.Release, d.Namespace)
	if d.Capabilities == nil || d.Capabilities.Fixed {
		return err
	}
	if gone := lost(*d.Capabilities, o.capabilities); len(gone) > 0 {
		err = &LostAPIsError{APIs: gone, Err: err}
	}
	return err
}

// written returns what a record contains and whether its objects are ready.
func (o *operation) written(
	ctx context.Context, d target.Deployment, w release.Write, record *helmrelease.Release,
) (release.Written, error) {
	record = o.records.AsStored(record)
	o.keep(record)
	objects := o.rendered.Objects
	if o.rendered.Bare == nil { // Nothing was rendered.
		var err error
		if objects, err = storage.SingleObjects(record.Manifest); err != nil {
			return release.Written{}, fmt.Errorf("reading the manifest of the release: %w", err)
		}
	}
	listed, err := listOf(objects, d)
	if err != nil {
		return release.Written{}, err
	}
	written := release.Written{
		Observed: storage.ObservedOf(record),
		Revision: o.records.Revision,
		NotOwned: slices.Sorted(slices.Values(o.client.notOwned)),
		Rendering: release.Rendering{
			Chart:   record.Chart.Name(),
			Version: record.Chart.Metadata.Version,
			Objects: listed,

			HidesNames: o.rendered.HidesNames,
		},
	}
	if !w.Wait {
		written.NotReady, err = o.look(ctx, objects, d.HelmOptions().WaitForJobs)
	}
	return written, err
}

// look checks once whether objects are ready. It requests only objects that the responses to the
// writes did not contain.
func (o *operation) look(ctx context.Context, objects []*unstructured.Unstructured, jobs bool) (notReady, err error) {
	built := o.client.written
	if built == nil {
		if built, err = o.buildObjects(objects); err != nil {
			return nil, err
		}
	}
	return o.client.cluster.Ready(ctx, built, release.Readiness{Jobs: jobs, Ignore: o.client.ignore}), nil
}

// serves reports whether the cluster has a kind. If the API group of the kind does not respond,
// as when an extension API server is down, the result is an error.
func (o *operation) serves(kind schema.GroupVersionKind) (bool, error) {
	_, err := o.client.cluster.Mapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err == nil {
		return true, nil
	}
	if meta.IsNoMatchError(err) {
		_, err = o.client.cluster.Discovery().ServerResourcesForGroupVersion(kind.GroupVersion().String())
		if err == nil || apierrors.IsNotFound(err) || errors.Is(err, memory.ErrCacheNotFound) {
			return false, nil
		}
	}
	return false, fmt.Errorf("looking for the kind %s: %w", kind.Kind, err)
}

// buildObjects builds objects for Helm's client.
func (o *operation) buildObjects(objects []*unstructured.Unstructured) (kube.ResourceList, error) {
	built, err := o.client.infos(objects)
	if err != nil {
		return nil, fmt.Errorf("looking up the kinds of objects: %w", err)
	}
	return built, nil
}
