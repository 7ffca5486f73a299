package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// kubeClient is Helm's own client with its waiting replaced. Helm's waiting supports built-in
// kinds only, polls every two seconds and cannot be cancelled.
type kubeClient struct {
	*kube.Client
	settings
	//nolint:containedctx // Helm's interface hands no context to Wait; the client exists for one operation
	ctx       context.Context
	cluster   Cluster
	requester *requester
	masker    *mask.Masker
	requests  *requestErrors
	cache     *responseCache
	// checked are the documents from which objects may be built.
	checked storage.CheckedDocuments
	// notOwned are the keys of objects that the release no longer has, and that belong to no release.
	notOwned []string
	// uids are the UIDs of the objects to delete, read together with their owners. Other objects
	// are not deleted, except those that this operation has created.
	uids  map[objectID]types.UID
	hooks hookObjects
	// former are the objects that an upgrade starts from.
	former kube.ResourceList
	// replaced are objects that were replaced by others of the same names.
	replaced kube.ResourceList
	// undeleted are the errors about objects that could not be deleted.
	undeleted []error
	// changed are the objects that this operation has created, or whose generation it has changed.
	// After a failed revision they are all objects: it may have changed them.
	changed map[*resource.Info]bool
	// waitErr is the error of the last wait. Helm keeps only its text.
	waitErr error
	// created are the objects that this operation has created, in their order. Objects that
	// existed before, hooks and namespaces are not among them.
	created kube.ResourceList
	// targets are the objects that were read to be written, and expected the last list of
	// them.
	targets  map[*resource.Info]bool
	expected kube.ResourceList
	// written are the objects of the release as the API server returned them, without hooks
	// and crds/.
	written kube.ResourceList
	// deleted are the objects that an API server has reported as deleted.
	deleted map[*resource.Info]bool
}

// resume takes the slot again, because there is more work after a wait.
func (k *kubeClient) resume() error {
	if k.slot == nil {
		return nil
	}
	return k.slot.Resume(k.ctx)
}

// pending reports what the operation waits for, without secret values.
func (k *kubeClient) pending(first release.Unready, objects int) {
	if k.listener != nil {
		k.listener.WaitsFor(release.Unready{Object: k.masker.Shown(first.Object), Reason: k.masker.Shown(first.Reason)}, objects)
	}
}

// Create creates objects, those of a batch in parallel. It returns when all started requests
// have ended. Helm's own Create returns at the first error while other requests continue.
func (k *kubeClient) Create(objects kube.ResourceList) (*kube.Result, error) {
	result := &kube.Result{}
	isHook := len(objects) > 0 && k.hooks.built[objects[0]]
	if isHook { // The work after a wait can be as much as the work before it.
		if err := k.resume(); err != nil {
			return result, err
		}
		if err := own(objects, k.release); err != nil {
			return result, err
		}
	}
	if err := refuseBuiltRecords(objects); err != nil { // Records in crds/ and in hooks are refused here.
		return result, err
	}
	for _, same := range batches(objects) {
		errs := each(same, func(object *resource.Info) error {
			_, err := k.Client.Create(kube.ResourceList{object})
			return err
		})
		for _, object := range same {
			if isCreated(object) {
				result.Created = append(result.Created, object)
			}
		}
		if len(errs) > 0 {
			k.note(result.Created)
			return result, errs[0]
		}
	}
	k.note(result.Created)
	for _, object := range result.Created {
		k.changed[object] = true
	}
	if len(objects) > 0 && k.targets[objects[0]] {
		k.written = objects
	}
	return result, nil
}

// Update also compares custom resources with their live objects. Helm's own Update compares
// custom resources only with the previous revision (pkg/kube/client.go, createPatch). Then a
// manual change would stay until the chart changes the same field.
func (k *kubeClient) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return k.UpdateThreeWayMerge(original, target, force)
}

// UpdateThreeWayMerge changes objects to their targets, those of a batch in parallel. Then it
// removes the objects that have no target any more. It reads the live objects with a few
// lists. Helm decides how an object is changed, and leaves an object without a change alone. With
// force, an object is deleted and created again if its immutable fields change.
func (k *kubeClient) UpdateThreeWayMerge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	if err := refuseBuiltRecords(target); err != nil {
		return &kube.Result{}, err
	}
	k.cache.invalidate()
	live, absent := k.cluster.Live(k.ctx, slices.Concat(target, original.Difference(target)))
	changes := findImmutableChanges(original, target, live, force && k.retries)
	if err := k.refuseChanges(changes, live, force); err != nil {
		return &kube.Result{}, err
	}
	if err := refuseOthers(k, live, target); err != nil {
		return &kube.Result{}, err
	}
	k.cache.add(live, absent)
	defer k.cache.invalidate()
	result, err := k.updateAll(original, target, live, changes)
	k.written = target
	k.note(result.Created)
	if err == nil {
		err = k.dropped(original.Difference(target))
	}
	return result, k.requests.withCause(err)
}

// updateAll updates as many objects as possible, as Helm does. It stops at an object that
// cannot be read or created.
func (k *kubeClient) updateAll(
	original, target kube.ResourceList, live map[*resource.Info]*unstructured.Unstructured, changes immutableChanges,
) (*kube.Result, error) {
	var (
		mu     sync.Mutex
		result = &kube.Result{}
		failed []error
	)
	for _, same := range batches(target) {
		stops := false
		// An object that is taken over is in original as the same value, which Helm changes.
		former := make(map[*resource.Info]kube.ResourceList, len(same))
		for _, object := range same {
			former[object] = formerOf(object, original, live[object])
		}
		errs := each(same, func(object *resource.Info) error {
			done, err := updateOne(k, object, former[object], live[object], changes[object])
			k.cache.invalidateCreated(object)
			mu.Lock()
			defer mu.Unlock()
			k.changed[object] = k.retries || isChanged(object, live[object])
			result.Created = append(result.Created, done.Created...)
			result.Updated = append(result.Updated, done.Updated...)
			// If Updated names an object, Helm failed to change it and would continue with the
			// next.
			stops = stops || err != nil && len(done.Updated) == 0
			return err
		})
		failed = append(failed, errs...)
		if stops {
			break
		}
	}
	return result, joined(failed)
}

// isChanged reports whether the API server has a new generation of an object.
func isChanged(object *resource.Info, before *unstructured.Unstructured) bool {
	after, err := meta.Accessor(object.Object)
	return before == nil || err != nil || after.GetUID() != before.GetUID() || after.GetGeneration() != before.GetGeneration()
}

// joined returns one error with the text that Helm makes of several errors.
func joined(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return mask.WithText(errors.Join(errs...), strings.Join(texts, " && "))
}

// DeleteWithPropagationPolicy deletes objects, those of a batch in parallel. It deletes exactly the
// objects that were read before or created by this operation. It does not wait for objects that an API server reports as deleted or as not found.
func (k *kubeClient) DeleteWithPropagationPolicy(objects kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	var (
		mu     sync.Mutex
		failed []error
	)
	for _, same := range batches(objects) {
		failed = append(failed, each(same, func(object *resource.Info) error {
			uid := cmp.Or(k.uids[idOf(object)], uidOf(object))
			var (
				gone bool
				err  error
			)
			replaced := uid == ""
			if !replaced {
				gone, err = deleteOne(k.ctx, object, policy, uid)
				replaced = apierrors.IsConflict(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if replaced {
				k.replaced, err = append(k.replaced, object), nil
			}
			if err != nil {
				err = fmt.Errorf("deleting %s: %w", idOf(object), err)
				k.undeleted = append(k.undeleted, err)
			}
			if gone || replaced { // Do not wait for an object that replaced this one.
				k.deleted[object] = true
			}
			return err
		})...)
	}
	if len(failed) > 0 {
		return nil, failed
	}
	return &kube.Result{Deleted: objects}, nil
}

// objectID identifies an object on its cluster.
type objectID struct {
	kind            schema.GroupKind
	namespace, name string
}

// String returns a text such as "Deployment.apps web/nginx".
func (o objectID) String() string {
	if o.namespace == "" {
		return o.kind.String() + " " + o.name
	}
	return o.kind.String() + " " + release.Key(o.namespace, o.name)
}

func idOf(object *resource.Info) objectID {
	id := objectID{kind: object.Mapping.GroupVersionKind.GroupKind(), namespace: object.Namespace, name: object.Name}
	if !object.Namespaced() {
		id.namespace = ""
	}
	return id
}

// deleteOne deletes an object and reports whether it no longer exists. An object can still
// exist because it has finalizers or takes time to terminate. Then the response is the object
// with the time of its deletion. An object with another UID is a conflict.
func deleteOne(ctx context.Context, object *resource.Info, policy metav1.DeletionPropagation, uid types.UID) (gone bool, err error) {
	options := &metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid}}
	var answer runtime.Object
	err = onConflict(ctx, func() (err error) {
		answer, err = resource.NewHelper(object.Client, object.Mapping).WithFieldManager(fieldManager).
			DeleteWithOptions(object.Namespace, object.Name, options)
		return err
	})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return isDeleted(object.Mapping.GroupVersionKind, answer), nil
}

// isDeleted reads the response to a deletion. For some of its own kinds, such as Service,
// Kubernetes returns the object that was deleted. For kinds of other API servers, such a
// response has no defined meaning.
func isDeleted(kind schema.GroupVersionKind, answer runtime.Object) bool {
	if status, ok := answer.(*metav1.Status); ok {
		return status.Status == metav1.StatusSuccess
	}
	object, err := meta.Accessor(answer)
	return err == nil && kind.Group == "" && object.GetName() != "" && object.GetDeletionTimestamp() == nil
}

// note notes the objects that were created.
func (k *kubeClient) note(made kube.ResourceList) {
	k.hooks.addCreated(made)
	for _, object := range made {
		if isCreated(object) && !k.hooks.built[object] && object.Mapping.GroupVersionKind.Kind != "Namespace" {
			k.created = append(k.created, object)
		}
	}
}

// isCreated reports whether the API server has returned the object.
func isCreated(object *resource.Info) bool { return object.ResourceVersion != "" }

// IsReachable sends no request: the releases of the cluster were read before any operation
// starts.
func (k *kubeClient) IsReachable() error { return nil }

// Wait waits for all objects but jobs.
func (k *kubeClient) Wait(objects kube.ResourceList, timeout time.Duration) error {
	k.yieldSlot()
	return k.wait(timeout, func(ctx context.Context) error {
		return k.cluster.WaitReady(ctx, objects, readinessFor(k, objects, false))
	})
}

// WaitWithJobs waits for all objects, jobs too.
func (k *kubeClient) WaitWithJobs(objects kube.ResourceList, timeout time.Duration) error {
	k.yieldSlot()
	return k.wait(timeout, func(ctx context.Context) error {
		return k.cluster.WaitReady(ctx, objects, readinessFor(k, objects, true))
	})
}

// readinessFor returns what counts for the readiness of objects.
func readinessFor(k *kubeClient, objects kube.ResourceList, jobs bool) release.Readiness {
	return release.Readiness{
		Jobs: jobs, Ignore: k.ignore, Pending: k.pending, Logs: k.logs,
		ReadyFor: k.readyFor, Changed: func(index int) bool { return k.changed[objects[index]] },
	}
}

// yieldSlot lets other operations run during a wait. The wait for crds/ does not yield: it
// occurs before any object of the release is written.
func (k *kubeClient) yieldSlot() {
	if k.written != nil && k.slot != nil {
		k.slot.Yield()
	}
}

// WaitForDelete waits until none of the objects exists any more.
func (k *kubeClient) WaitForDelete(objects kube.ResourceList, timeout time.Duration) error {
	return k.wait(timeout, func(ctx context.Context) error { return k.waitDeleted(ctx, objects) })
}

func (k *kubeClient) waitDeleted(ctx context.Context, objects kube.ResourceList) error {
	left := objects.Filter(func(object *resource.Info) bool { return !k.deleted[object] })
	if len(left) == 0 {
		return nil
	}
	first := release.Unready{Object: titleOf(left[0]), Reason: "being deleted"}
	k.pending(first, len(left))
	defer k.pending(release.Unready{}, 0)
	return k.cluster.WaitDeleted(ctx, left)
}

func (k *kubeClient) wait(timeout time.Duration, until func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(k.ctx, timeout)
	defer cancel()
	defer k.pending(release.Unready{}, 0)
	k.waitErr = until(ctx)
	return k.waitErr
}
