package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Uninstall removes a release, its objects and its history, and returns when
// the objects are gone. It fails with a *release.ChangedError, and removes nothing, when
// the newest record is another than the one observed: somebody may have taken the
// release over. Objects that removal spares stay, and so does the record
// until everything else was seen to go, so that a removal which fails can be
// tried again. What the terms of the release say of its objects and its namespace
// is done as well.
func (c *Client) Uninstall(ctx context.Context, observed release.Observed, removal release.Removal) (release.Removed, error) {
	if observed.Mark.Terms.KeepResources {
		return release.Removed{}, c.forget(ctx, observed)
	}
	removed, err := c.uninstall(ctx, observed, removal)
	if err != nil {
		return removed, fmt.Errorf("uninstalling release %s in namespace %s: %w", observed.Release, observed.Namespace, err)
	}
	removed.InNamespace, err = c.leaveNamespace(ctx, observed, removal.Timeout)
	return removed, err
}

func (c *Client) uninstall(ctx context.Context, observed release.Observed, removal release.Removal) (release.Removed, error) {
	op, err := c.operation(ctx, observed.Namespace)
	if err != nil {
		return release.Removed{}, err
	}
	op.records.newest = observed.Revision
	op.records.check = func(newest release.Observed) error { return unchanged(observed, newest) }
	op.records.hold = func() error { return op.client.waitErr }
	op.records.edit = func(record *helmrelease.Release) (err error) {
		if record.Version == observed.Revision { // What is older was removed with its successor.
			record.Manifest, err = c.removable(ctx, op, record.Manifest, observed, removal.Spare)
		}
		return err
	}
	uninstall := action.NewUninstall(op.config)
	uninstall.Wait = true
	uninstall.Timeout = removal.Timeout
	uninstall.IgnoreNotFound = true
	uninstall.DeletionPropagation = "background"
	gone, err := uninstall.Run(observed.Release)
	if err == nil {
		err = op.records.unread
	}
	if err == nil && !slices.Contains(op.records.deleted, recordName(observed.Release, observed.Revision)) {
		err = c.gone(ctx, observed)
	}
	if err != nil && op.client.waitErr != nil {
		return release.Removed{}, op.client.waitErr
	}
	if err != nil {
		return release.Removed{}, op.redactor.redact(op.client.requests.withCause(err))
	}
	return removedOf(gone, observed.Namespace)
}

func unchanged(observed, newest release.Observed) error {
	if reflect.DeepEqual(observed, newest) {
		return nil
	}
	return &release.ChangedError{Release: observed.Release, Namespace: observed.Namespace}
}

// gone fails when a release is still there: Helm takes an empty list of records
// for a release that is gone.
func (c *Client) gone(ctx context.Context, removed release.Observed) error {
	left, err := c.doubted(ctx, removed.Namespace, removed.Release)
	if err == nil && left != nil {
		err = &release.ChangedError{Release: removed.Release, Namespace: removed.Namespace}
	}
	return err
}

// removable takes out of a manifest what is not to be deleted: what another
// release holds now, and objects of kinds that the cluster no longer knows. With
// its definition the last object of a kind is gone too; Helm fails there and would
// never remove the rest.
func (c *Client) removable(ctx context.Context, op *operation, manifest string, observed release.Observed, spare map[string]bool) (string, error) {
	parsed, err := documents([]byte(manifest))
	if err != nil {
		return "", err
	}
	parsed = flatten(parsed)
	listed := make([]release.Object, len(parsed))
	for i, object := range parsed {
		listed[i] = identify(object, observed.Namespace)
	}
	taken, err := c.takenObjects(ctx, observed, listed)
	if err != nil {
		return "", err
	}
	mapper, err := op.config.RESTClientGetter.ToRESTMapper()
	if err != nil {
		return "", fmt.Errorf("reading the kinds of the cluster: %w", err)
	}
	var left []*unstructured.Unstructured
	for i, object := range parsed {
		if key := listed[i].Key(); spare[key] || taken[key] {
			continue
		}
		known, err := op.knows(mapper, object.GroupVersionKind())
		if err != nil {
			return "", err
		}
		if known {
			// Helm would leave it for a hook, which nothing in a manifest is.
			unstructured.RemoveNestedField(object.Object, "metadata", "annotations", helmrelease.HookAnnotation)
			left = append(left, object)
		}
	}
	return join(left)
}

// knows says whether the cluster has a kind. That its group does not answer, as
// when an extension API server is down, proves nothing.
func (o *operation) knows(mapper meta.RESTMapper, kind schema.GroupVersionKind) (bool, error) {
	_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err == nil {
		return true, nil
	}
	if !meta.IsNoMatchError(err) {
		return false, fmt.Errorf("looking for the kind %s: %w", kind.Kind, err)
	}
	found, err := o.config.RESTClientGetter.ToDiscoveryClient()
	if err != nil {
		return false, fmt.Errorf("making a discovery client: %w", err)
	}
	_, err = found.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err == nil || apierrors.IsNotFound(err) || errors.Is(err, memory.ErrCacheNotFound) {
		return false, nil
	}
	return false, fmt.Errorf("looking for the kind %s: %w", kind.Kind, err)
}

// removedOf reads from an uninstalled release what it asked to be kept.
func removedOf(gone *helmrelease.UninstallReleaseResponse, namespace string) (release.Removed, error) {
	if gone == nil || gone.Release == nil {
		return release.Removed{}, nil
	}
	parsed, err := documents([]byte(gone.Release.Manifest))
	if err != nil {
		return release.Removed{}, fmt.Errorf("reading the manifest: %w", err)
	}
	var removed release.Removed
	for _, object := range parsed {
		policy := strings.ToLower(strings.TrimSpace(object.GetAnnotations()[kube.ResourcePolicyAnno]))
		if policy == kube.KeepPolicy {
			removed.Kept = append(removed.Kept, identify(object, namespace).Key())
		}
	}
	return removed, nil
}

// forget removes the record of a release with its history, oldest first, and
// touches nothing else. It reads no record, so that a damaged one can go too.
func (c *Client) forget(ctx context.Context, observed release.Observed) error {
	secrets, err := c.secrets(observed.Namespace)
	if err != nil {
		return err
	}
	selector := labels.SelectorFromSet(labels.Set{labelOwner: helmOwner, labelName: observed.Release}).String()
	history, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("listing the history of release %s: %w", observed.Release, err)
	}
	if len(history.Items) == 0 {
		return nil
	}
	if err := unchanged(observed, newestOf(history.Items)); err != nil {
		return err
	}
	slices.SortFunc(history.Items, func(a, b metav1.PartialObjectMetadata) int {
		return cmp.Compare(observe(&a).Revision, observe(&b).Revision)
	})
	for _, record := range history.Items {
		if err := secrets.Delete(ctx, record.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing the record %s: %w", record.Name, err)
		}
	}
	return nil
}
