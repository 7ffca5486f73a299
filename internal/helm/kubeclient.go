package helm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// kubeClient is Helm's own client with waiting replaced: Helm's knows built-in
// kinds only, looks every two seconds and cannot be cancelled.
type kubeClient struct {
	*kube.Client
	//nolint:containedctx // Helm's interface hands no context to Wait; the client lives for one operation
	ctx      context.Context
	objects  Objects
	requests *requestErrors
	ahead    *responseCache
	// release is the one that is written, as release.Key, and within the namespace that
	// nothing is deleted outside of, "" for any.
	release, within string
	// spare are objects, by Object.Key, that are not deleted although the release no longer
	// has them: another one takes them over.
	spare map[string]string
	// uids distinguish the objects to delete from others that replace them.
	uids map[objectID]types.UID
	// exchanged are those that others took the place of.
	exchanged kube.ResourceList
	// ignore are conditions that say nothing about the readiness of objects.
	ignore []map[string]string
	// rest is called when nothing is left but to wait, and resume when there is more to do
	// after all.
	rest   func() bool
	resume func() error
	// pending is called during a wait, see release.Listener.
	pending func(first release.Unready, objects int)
	// validated says that the API server checks fields itself.
	validated bool
	// renew makes another factory, in place of one that keeps a failure.
	renew func() kube.Factory
	// waitErr is what the last wait failed with. Helm keeps only its text.
	waitErr error
	// created are the objects that this operation has made, in their order: what
	// was there before is not among them, nor are hooks and namespaces.
	created kube.ResourceList
	// targets are objects that were read to be written, and expected the last of them.
	targets  map[*resource.Info]bool
	expected kube.ResourceList
	// written are the objects of the release, its hooks and crds/ aside, as the API server
	// answered with them.
	written kube.ResourceList
	// gone are objects that an API server has said to be.
	gone map[*resource.Info]bool
}

// Create makes objects, those of a batch at once, and comes back when all that
// were begun are through. Helm's own Create returns at the first error while it
// goes on with others.
func (k *kubeClient) Create(objects kube.ResourceList) (*kube.Result, error) {
	result := &kube.Result{}
	if len(objects) > 0 && isHook(objects[0]) { // What follows a wait can be as much work as what came before it.
		if err := k.resume(); err != nil {
			return result, err
		}
	}
	if err := refuseBuiltRecords(objects); err != nil { // Those of crds/ and of hooks get no further.
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
	if len(objects) > 0 && k.targets[objects[0]] && !isHook(objects[0]) {
		k.written = objects
	}
	return result, nil
}

// Update looks at what is live, of custom resources too. Helm's own Update compares
// those only with the revision before (pkg/kube/client.go, createPatch), so that what
// somebody changed on one would stay until the chart changes it as well.
func (k *kubeClient) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return k.UpdateThreeWayMerge(original, target, force)
}

// UpdateThreeWayMerge brings objects to what the target says, those of a batch at once,
// and then removes those that it no longer has. What is live comes from a few lists; how
// an object is changed, and that one without a change is left alone, is Helm's.
func (k *kubeClient) UpdateThreeWayMerge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	if err := refuseBuiltRecords(target); err != nil {
		return &kube.Result{}, err
	}
	k.ahead.invalidate()
	if !force { // To replace an object takes its version of that moment.
		k.ahead.add(k.objects.Live(k.ctx, slices.Concat(target, original.Difference(target))))
	}
	defer k.ahead.invalidate()
	result, err := k.updateAll(original, target, force)
	k.written = target
	k.note(result.Created)
	if err == nil {
		err = k.dropped(original.Difference(target))
	}
	return result, k.requests.withCause(err)
}

// updateAll updates what can be, as Helm does. An object that cannot be read or made ends
// it.
func (k *kubeClient) updateAll(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	var (
		mu     sync.Mutex
		result = &kube.Result{}
		failed []error
	)
	for _, same := range batches(target) {
		stops := false
		errs := each(same, func(object *resource.Info) error {
			var before kube.ResourceList
			if found := original.Get(object); found != nil {
				before = kube.ResourceList{found}
			}
			done, err := k.Client.UpdateThreeWayMerge(before, kube.ResourceList{object}, force)
			k.ahead.invalidateCreated(object)
			mu.Lock()
			defer mu.Unlock()
			result.Created = append(result.Created, done.Created...)
			result.Updated = append(result.Updated, done.Updated...)
			// Helm names an object here that it tried to change, and goes on then.
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

// joined is one error in the words in which Helm joins several.
func joined(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return diff.WithText(errors.Join(errs...), strings.Join(texts, " && "))
}

// DeleteWithPropagationPolicy deletes objects, those of a batch at once. Of what an API
// server says it has deleted, or did not have, nobody need ask whether it is gone.
func (k *kubeClient) DeleteWithPropagationPolicy(objects kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	var (
		mu     sync.Mutex
		failed []error
	)
	for _, same := range batches(objects) {
		failed = append(failed, each(same, func(object *resource.Info) error {
			uid := k.uids[idOf(object)]
			gone, err := deleteOne(k.ctx, object, policy, uid)
			exchanged := uid != "" && apierrors.IsConflict(err)
			if exchanged {
				err = nil
			}
			mu.Lock()
			defer mu.Unlock()
			if exchanged {
				k.exchanged = append(k.exchanged, object)
			}
			if gone || exchanged { // Nobody waits for the one that took its place.
				k.gone[object] = true
			}
			return err
		})...)
	}
	if len(failed) > 0 {
		return nil, failed
	}
	return &kube.Result{Deleted: objects}, nil
}

// objectID names an object on its cluster.
type objectID struct {
	kind            schema.GroupKind
	namespace, name string
}

func idOf(object *resource.Info) objectID {
	id := objectID{kind: object.Mapping.GroupVersionKind.GroupKind(), namespace: object.Namespace, name: object.Name}
	if !object.Namespaced() {
		id.namespace = ""
	}
	return id
}

// deleteOne says whether the object is gone already. One that waits for finalizers or
// ends by and by is not: then the response is the object, with the time of its deletion.
// Another object than that of uid is a conflict, unless uid is "".
func deleteOne(ctx context.Context, object *resource.Info, policy metav1.DeletionPropagation, uid types.UID) (gone bool, err error) {
	options := &metav1.DeleteOptions{PropagationPolicy: &policy}
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
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
	return isGone(object.Mapping.GroupVersionKind, answer), nil
}

// isGone reads the response to a deletion. Some kinds of Kubernetes itself respond with what
// the object was, as a Service does; what servers of others mean by that is theirs.
func isGone(kind schema.GroupVersionKind, answer runtime.Object) bool {
	if status, ok := answer.(*metav1.Status); ok {
		return status.Status == metav1.StatusSuccess
	}
	object, err := meta.Accessor(answer)
	return err == nil && kind.Group == "" && object.GetName() != "" && object.GetDeletionTimestamp() == nil
}

func (k *kubeClient) note(made kube.ResourceList) {
	for _, object := range made {
		if isCreated(object) && !isHook(object) && object.Mapping.GroupVersionKind.Kind != "Namespace" {
			k.created = append(k.created, object)
		}
	}
}

// isCreated says whether the API server has answered with the object.
func isCreated(object *resource.Info) bool { return object.ResourceVersion != "" }

func isHook(object *resource.Info) bool {
	annotations, err := meta.NewAccessor().Annotations(object.Object)
	return err == nil && annotations[wellknown.Hook] != ""
}

// IsReachable asks nothing: the releases of the cluster were read before any
// operation starts.
func (k *kubeClient) IsReachable() error { return nil }

// Wait waits for all objects but jobs.
func (k *kubeClient) Wait(objects kube.ResourceList, timeout time.Duration) error {
	k.yieldToken()
	return k.wait(timeout, func(ctx context.Context) error {
		return k.objects.WaitReady(ctx, objects, release.Readiness{Ignore: k.ignore, Pending: k.pending})
	})
}

// WaitWithJobs waits for all objects, jobs too.
func (k *kubeClient) WaitWithJobs(objects kube.ResourceList, timeout time.Duration) error {
	k.yieldToken()
	return k.wait(timeout, func(ctx context.Context) error {
		return k.objects.WaitReady(ctx, objects, release.Readiness{Jobs: true, Ignore: k.ignore, Pending: k.pending})
	})
}

// yieldToken lets others run during a wait. There is one for crds/ too, before anything of
// the release is written, which keeps its place.
func (k *kubeClient) yieldToken() {
	if k.written != nil {
		k.rest()
	}
}

// WaitForDelete waits until all objects are gone.
func (k *kubeClient) WaitForDelete(objects kube.ResourceList, timeout time.Duration) error {
	return k.wait(timeout, func(ctx context.Context) error { return k.waitGone(ctx, objects) })
}

func (k *kubeClient) waitGone(ctx context.Context, objects kube.ResourceList) error {
	left := objects.Filter(func(object *resource.Info) bool { return !k.gone[object] })
	if len(left) == 0 {
		return nil
	}
	first := release.Unready{Object: titleOf(left[0]), Reason: "being deleted"}
	k.pending(first, len(left))
	defer k.pending(release.Unready{}, 0)
	return k.objects.WaitGone(ctx, left)
}

// notify makes a listener follow what the client waits for, without secret values.
func (k *kubeClient) notify(listener release.Listener, masker *diff.Masker) {
	if listener == nil {
		return
	}
	k.pending = func(first release.Unready, objects int) {
		listener.WaitsFor(release.Unready{Object: masker.Shown(first.Object), Reason: masker.Shown(first.Reason)}, objects)
	}
}

func (k *kubeClient) wait(timeout time.Duration, until func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(k.ctx, timeout)
	defer cancel()
	defer k.pending(release.Unready{}, 0)
	k.waitErr = until(ctx)
	return k.waitErr
}
