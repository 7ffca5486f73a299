package helm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// hookObjects are the objects of the hooks of one operation. Helm deletes an object that a hook is
// about to create, whatever it belongs to (pkg/action/hooks.go, deleteHookByPolicy).
type hookObjects struct {
	// built are the objects of hooks that Helm has built.
	built map[*resource.Info]bool
	// texts are the manifests of hooks.
	texts map[string]bool
	// deletable are the UIDs of the objects that hooks may delete: those that were read together
	// with their owner, and those that hooks of this operation have created.
	deletable map[objectID]types.UID
}

func newHookObjects() hookObjects {
	return hookObjects{built: map[*resource.Info]bool{}, texts: map[string]bool{}, deletable: map[objectID]types.UID{}}
}

// hookEvents returns the events that an operation runs hooks for, from the status of its new record.
func hookEvents(status helmrelease.Status) []helmrelease.HookEvent {
	switch status {
	case helmrelease.StatusPendingInstall:
		return []helmrelease.HookEvent{helmrelease.HookPreInstall, helmrelease.HookPostInstall}
	case helmrelease.StatusPendingUpgrade:
		return []helmrelease.HookEvent{helmrelease.HookPreUpgrade, helmrelease.HookPostUpgrade}
	case helmrelease.StatusPendingRollback:
		return []helmrelease.HookEvent{helmrelease.HookPreRollback, helmrelease.HookPostRollback}
	default:
		return []helmrelease.HookEvent{helmrelease.HookPreDelete, helmrelease.HookPostDelete}
	}
}

// runs reports whether Helm runs a hook for one of the events.
func runs(hook *helmrelease.Hook, events []helmrelease.HookEvent) bool {
	return slices.ContainsFunc(hook.Events, func(event helmrelease.HookEvent) bool { return slices.Contains(events, event) })
}

// replaces reports whether Helm deletes existing objects before it runs a hook.
func replaces(hook *helmrelease.Hook) bool {
	return len(hook.DeletePolicies) == 0 || slices.Contains(hook.DeletePolicies, helmrelease.HookBeforeHookCreation)
}

// hookObject is an object that a hook is going to create.
type hookObject struct {
	diff.Object

	// isReplaced is true if Helm deletes an existing object of that name.
	isReplaced bool
}

// prepareHooks reads the existing objects that hooks of an operation would replace, and returns a
// an error if it may not replace one: the object does not name this release as its owner,
// as objects of hooks do, or it is a Namespace. takes permits all but namespaces.
func (o *operation) prepareHooks(ctx context.Context, record *helmrelease.Release, events []helmrelease.HookEvent, takes bool) error {
	wanted, err := o.client.hooks.wanted(record, events)
	if err != nil || len(wanted) == 0 {
		return err
	}
	objects := make([]diff.Object, len(wanted))
	for i, object := range wanted {
		objects[i] = object.Object
	}
	there, err := liveObjects(ctx, o.client.cluster, release.Observed{Release: record.Name, Namespace: record.Namespace}, objects)
	if err != nil {
		return err
	}
	var conflicts []string
	for _, object := range wanted {
		live, exists := there[object.Key()]
		if !exists {
			continue
		}
		if reason := object.conflict(live, takes); reason != "" {
			conflicts = append(conflicts, titleOfObject(object.Object, live)+reason)
			continue
		}
		kind := schema.GroupKind{Group: object.Group, Kind: object.Kind}
		o.client.hooks.deletable[objectID{kind: kind, namespace: live.namespace, name: object.Name}] = live.uid
	}
	if len(conflicts) == 0 {
		return nil
	}
	slices.Sort(conflicts)
	return errors.New("its hooks would replace objects that no earlier run of them has created: " +
		strings.Join(slices.Compact(conflicts), "; ") +
		". Delete these objects, rename the hooks, or name the deployment in take_ownership_of, which permits everything but a namespace")
}

// wanted returns the objects that the hooks of a record create for the events. Helm never deletes a
// custom resource definition for a hook.
func (h *hookObjects) wanted(record *helmrelease.Release, events []helmrelease.HookEvent) ([]hookObject, error) {
	var wanted []hookObject
	isReplaced := map[string]bool{}
	for _, hook := range record.Hooks {
		h.texts[hook.Manifest] = true
		if !runs(hook, events) {
			continue
		}
		objects, err := storage.SingleObjects(hook.Manifest)
		if err != nil {
			return nil, fmt.Errorf("reading the hook %s: %w", hook.Path, err)
		}
		for _, object := range objects {
			if object.GetKind() == manifest.CRDKind {
				continue
			}
			identity := manifest.Identify(object, record.Namespace)
			isReplaced[identity.Key()] = isReplaced[identity.Key()] || replaces(hook)
			wanted = append(wanted, hookObject{Object: identity})
		}
	}
	for i := range wanted {
		wanted[i].isReplaced = isReplaced[wanted[i].Key()]
	}
	return wanted, nil
}

// conflict returns why a hook may not replace an object, "" if it may.
func (o hookObject) conflict(live liveObject, takes bool) string {
	switch {
	case o.Group == "" && o.Kind == "Namespace":
		return ", which is a namespace"
	case !o.isReplaced:
		return ", which the delete policy of the hook keeps"
	case takes, live.held == ownedByRelease:
		return ""
	case live.held == ownedByOther:
		return ", which belongs to release " + live.owner
	}
	return ", which belongs to no release"
}

// titleOfObject returns a title such as "Job web/migrate".
func titleOfObject(object diff.Object, live liveObject) string {
	if live.namespace == "" {
		return object.Kind + " " + object.Name
	}
	return object.Kind + " " + release.Key(live.namespace, object.Name)
}

// own lets objects of a hook name their release, as release.Key, so that a later run of the hook may
// replace them.
func own(objects kube.ResourceList, of string) error {
	namespace, name, _ := strings.Cut(of, "/")
	for _, info := range objects {
		object, err := meta.Accessor(info.Object)
		if err != nil {
			return fmt.Errorf("reading the metadata of %s: %w", titleOf(info), err)
		}
		object.SetAnnotations(withMore(object.GetAnnotations(), map[string]string{
			wellknown.ReleaseName: name, wellknown.ReleaseNamespace: namespace,
		}))
	}
	return nil
}

// addCreated notes the objects that hooks have created. Hooks may delete them again.
func (h *hookObjects) addCreated(created kube.ResourceList) {
	for _, info := range created {
		if uid := uidOf(info); h.built[info] && uid != "" {
			h.deletable[idOf(info)] = uid
		}
	}
}

// uidOf returns the UID of an object as the API server returned it.
func uidOf(info *resource.Info) types.UID {
	object, err := meta.Accessor(info.Object)
	if err != nil || !isCreated(info) {
		return ""
	}
	return object.GetUID()
}

// Delete deletes objects of hooks. Helm calls it for nothing else. It deletes only objects that
// hooks may delete, and exactly those.
func (k *kubeClient) Delete(objects kube.ResourceList) (*kube.Result, []error) {
	var failed []error
	for _, info := range objects {
		id := idOf(info)
		uid, may := k.hooks.deletable[id]
		if !may || info.Mapping.GroupVersionKind.Kind == manifest.CRDKind {
			k.deleted[info] = true
			continue
		}
		gone, err := deleteOne(k.ctx, info, metav1.DeletePropagationBackground, uid)
		if apierrors.IsConflict(err) { // Another object replaced it. The hook will fail to create its own.
			gone, err = true, nil
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		delete(k.hooks.deletable, id)
		if gone {
			k.deleted[info] = true
		}
	}
	return &kube.Result{Deleted: objects}, failed
}
