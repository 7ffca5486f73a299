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
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// Uninstall removes a release, its objects and its history, and returns when the objects no
// longer exist. If the newest record is not the observed one, it fails with a
// *release.ChangedError and removes nothing: another client may have taken over the release.
// Objects that removal keeps stay. The record stays until the removal of everything else was
// confirmed, so that a failed removal can be tried again. Uninstall also applies the policy in
// removal.Known to the objects and the namespace.
//
// The record alone is not trusted. Its hooks run only if it is proven. An
// object is removed only if its own annotations name this release, and if it is in the
// namespace that the release is restricted to.
func (c *Client) Uninstall(ctx context.Context, observed release.Observed, removal release.Removal) (release.Removed, error) {
	if removal.Known.KeepResources {
		return release.Removed{}, c.records.remove(ctx, observed)
	}
	removed, err := c.uninstallRelease(ctx, observed, removal)
	if err != nil {
		return removed, status.Named(err, "uninstalling release %s in namespace %s", observed.Release, observed.Namespace)
	}
	if !removal.Claimant().Trusts(observed) {
		observed.Mark = removal.Mark // The owner of the namespace decides whether it is deleted.
	}
	removed.InNamespace, err = c.leaveNamespace(ctx, observed, removal.Known.UninstallPolicy, removal.NamespaceUsedBy, removal.Timeout)
	return removed, err
}

// uninstallRelease removes a release without its namespace.
func (c *Client) uninstallRelease(ctx context.Context, observed release.Observed, removal release.Removal) (release.Removed, error) {
	var (
		op      *operation
		removed release.Removed
	)
	how := settings{release: release.Key(observed.Namespace, observed.Release), listener: removal.Listener}
	op, err := c.begin(ctx, observed.Namespace, how, storage.Options{
		By: removal.Claimant(), Newest: observed.Revision,
		Removal: &storage.Removal{
			Check: func(newest release.Observed) error { return unchanged(observed, newest) },
			Edit: func(record *helmrelease.Release) error {
				return op.editRemoved(ctx, record, observed, removal, &removed)
			},
			Hold: func() error { return op.client.waitErr },
		},
	})
	if err != nil {
		return release.Removed{}, err
	}
	op.masker.Publish(observed.Release)
	if err := c.runUninstall(ctx, op, observed, removal, &removed); err != nil {
		return release.Removed{}, op.masker.Error(err)
	}
	return removed, nil
}

// editRemoved leaves the objects in the newest record that are deleted, and its hooks only if it is
// proven. Objects of older revisions were removed by their successors.
func (o *operation) editRemoved(
	ctx context.Context, record *helmrelease.Release, observed release.Observed, removal release.Removal, removed *release.Removed,
) error {
	if record.Version != observed.Revision {
		return nil
	}
	if removed.Untrusted = !o.records.Trusts(record); removed.Untrusted {
		record.Hooks = nil
	}
	if err := o.prepareHooks(ctx, record, hookEvents(helmrelease.StatusUninstalling), false); err != nil {
		return err
	}
	base, err := o.records.Objects(record)
	if err != nil {
		return err
	}
	record.Manifest, removed.NotOwned, err = o.removable(ctx, o.objectsOf(base, removal, !removed.Untrusted), observed, removal)
	return err
}

// runUninstall lets Helm remove a release.
func (c *Client) runUninstall(
	ctx context.Context, op *operation, observed release.Observed, removal release.Removal, removed *release.Removed,
) error {
	uninstall := action.NewUninstall(op.config)
	uninstall.Wait = true
	uninstall.Timeout = removal.Timeout
	uninstall.IgnoreNotFound = true
	uninstall.DeletionPropagation = "background"
	gone, err := uninstall.Run(observed.Release)
	if err == nil {
		err = op.records.Unread
	}
	if err == nil && !slices.Contains(op.records.Deleted, storage.RecordName(observed.Release, observed.Revision)) {
		err = c.checkRemoved(ctx, observed)
	}
	if err != nil && op.client.waitErr != nil {
		return op.client.waitErr
	}
	if err != nil && len(op.client.undeleted) > 0 { // Helm's error names only the release.
		err = errors.Join(op.client.undeleted...)
	}
	if err != nil {
		return op.client.requests.withCause(err)
	}
	for _, object := range op.client.replaced {
		removed.NotOwned = append(removed.NotOwned, keyOf(object))
	}
	removed.Kept, err = keptOf(gone, observed.Namespace)
	return err
}

// keyOf returns the key of an object as it is in a release.
func keyOf(object *resource.Info) string {
	id := idOf(object)
	return diff.Object{Group: id.kind.Group, Kind: id.kind.Kind, Namespace: id.namespace, Name: id.name}.Key()
}

func unchanged(observed, newest release.Observed) error {
	observed.Failed = newest.Failed // A record that was read alone does not have it.
	if reflect.DeepEqual(observed, newest) {
		return nil
	}
	return &release.ChangedError{Release: observed.Release, Namespace: observed.Namespace}
}

// checkRemoved fails if a release still exists: Helm treats an empty list of records as a removed
// release.
func (c *Client) checkRemoved(ctx context.Context, removed release.Observed) error {
	left, err := c.records.confirm(ctx, removed.Namespace, removed.Release)
	if err == nil && left != nil {
		err = &release.ChangedError{Release: removed.Release, Namespace: removed.Namespace}
	}
	return err
}

// removable takes out of a manifest the objects that must not be deleted: objects that do not
// belong to the release, objects outside of its namespace, and objects of kinds that the
// cluster no longer has. The objects of a kind are deleted with its definition. Helm would
// fail at such a kind and never remove the rest. notOwned are objects that stay and belong to
// no other release.
func (o *operation) removable(
	ctx context.Context, parsed []*unstructured.Unstructured, observed release.Observed, removal release.Removal,
) (left string, notOwned []string, err error) {
	parsed, notOwned = within(parsed, o.client.cluster.Mapper(), observed.Namespace, removal.Known.TargetNamespace)
	listed := make([]diff.Object, len(parsed))
	for i, object := range parsed {
		listed[i] = manifest.Identify(object, observed.Namespace)
	}
	there, err := liveObjects(ctx, o.client.cluster, observed, listed)
	if err != nil {
		return "", nil, err
	}
	o.client.uids = map[objectID]types.UID{}
	var going []*unstructured.Unstructured
	for i, object := range parsed {
		key, live := listed[i].Key(), there[listed[i].Key()]
		if removal.KeepObjects[key] || live.held == ownedByOther {
			continue
		}
		known, err := o.serves(object.GroupVersionKind())
		if err != nil {
			return "", nil, err
		}
		switch {
		case !known:
			continue
		case isKept(object):
		case live.isKept && live.held == ownedByRelease:
			object.SetAnnotations(map[string]string{wellknown.ResourcePolicy: wellknown.KeepPolicy}) // Helm reports it.
		case strings.HasSuffix(key, manifest.GeneratedName): // The generated name is unknown.
			notOwned = append(notOwned, key)
			continue
		case live.uid == "": // It does not exist.
			continue
		case live.held == ownedByNobody || !live.isWithin(removal.Known.TargetNamespace):
			notOwned = append(notOwned, key)
			continue
		}
		o.client.uids[objectID{kind: object.GroupVersionKind().GroupKind(), namespace: live.namespace, name: object.GetName()}] = live.uid
		// Helm would treat the object as a hook and not delete it. An object of a manifest is
		// never a hook.
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations", wellknown.Hook)
		going = append(going, object)
	}
	left, err = o.client.checked.Write(going)
	return left, notOwned, err
}

// objectsOf returns the objects of a release that is removed: those that its revisions can have
// written, or those in state if the newest record is not trusted and state has them. A record without
// a proof neither adds an object to a removal nor takes one away.
func (o *operation) objectsOf(base []*unstructured.Unstructured, removal release.Removal, isTrusted bool) []*unstructured.Unstructured {
	if isTrusted || len(removal.Objects) == 0 {
		return base
	}
	objects := make([]*unstructured.Unstructured, 0, len(removal.Objects))
	for _, key := range removal.Objects {
		identity := diff.ParseKey(key)
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetGroupVersionKind(o.servedVersion(schema.GroupKind{Group: identity.Group, Kind: identity.Kind}))
		object.SetNamespace(identity.Namespace)
		object.SetName(identity.Name)
		objects = append(objects, object)
	}
	return objects
}

// servedVersion returns a kind with a version that the cluster serves. The version of a kind that it
// does not serve is v1.
func (o *operation) servedVersion(kind schema.GroupKind) schema.GroupVersionKind {
	mapping, err := o.client.cluster.Mapper().RESTMapping(kind)
	if err != nil {
		return kind.WithVersion("v1")
	}
	return mapping.GroupVersionKind
}

// within leaves out objects outside the namespace that their release is restricted to, and
// returns their keys. The identity that removes the release may not be allowed to read them.
func within(
	objects []*unstructured.Unstructured, mapper meta.RESTMapper, namespace, only string,
) (left []*unstructured.Unstructured, outside []string) {
	if only == "" {
		return objects, nil
	}
	for _, object := range objects {
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		isGlobal := err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot
		if isGlobal || cmp.Or(object.GetNamespace(), namespace) != only {
			outside = append(outside, manifest.Identify(object, namespace).Key())
			continue
		}
		left = append(left, object)
	}
	return left, outside
}

// keptOf returns the objects of an uninstalled release that have the annotation to be kept.
func keptOf(gone *helmrelease.UninstallReleaseResponse, namespace string) ([]string, error) {
	if gone == nil || gone.Release == nil {
		return nil, nil
	}
	parsed, err := manifest.Parse([]byte(gone.Release.Manifest))
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	var kept []string
	for _, object := range parsed {
		if isKept(object) {
			kept = append(kept, manifest.Identify(object, namespace).Key())
		}
	}
	return kept, nil
}
