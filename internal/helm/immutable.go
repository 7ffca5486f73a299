package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/immutable"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// immutableChanges are the immutable fields that an update changes, by object.
type immutableChanges map[*resource.Info][]string

// findImmutableChanges compares objects with their live ones. The API server decides about objects that
// the release adopts. With alike, values also count that the former manifest has too.
func findImmutableChanges(
	original, target kube.ResourceList, live map[*resource.Info]*unstructured.Unstructured, alike bool,
) immutableChanges {
	find := immutable.Fields
	if alike {
		find = immutable.Differing
	}
	changes := immutableChanges{}
	for _, object := range target {
		current, wanted := live[object], contentOf(object)
		if current == nil || !immutable.Has(immutable.KindOf(wanted)) {
			continue
		}
		former := original.Get(object)
		if former == nil {
			continue
		}
		if fields := find(contentOf(former), current.Object, wanted); len(fields) > 0 {
			changes[object] = fields
		}
	}
	return changes
}

// refuseImmutable refuses an upgrade before its revision is stored. It reads only objects whose
// manifests differ in an immutable field.
func refuseImmutable(k *kubeClient, force bool) error {
	var differing kube.ResourceList
	for _, object := range k.expected {
		wanted := contentOf(object)
		if !immutable.Has(immutable.KindOf(wanted)) {
			continue
		}
		if former := k.former.Get(object); former != nil && immutable.MayDiffer(contentOf(former), wanted) {
			differing = append(differing, object)
		}
	}
	if len(differing) == 0 {
		return nil
	}
	live, _ := k.cluster.Live(k.ctx, differing)
	return k.refuseChanges(findImmutableChanges(k.former, differing, live, false), live, force)
}

func contentOf(object *resource.Info) map[string]any {
	content, ok := object.Object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	return content.Object
}

// refuseChanges returns an error if the update cannot be made. It is called before any object is written. With
// force, objects are replaced that belong to the release, hold no data of others and have no annotation
// that keeps them.
func (k *kubeClient) refuseChanges(changes immutableChanges, live map[*resource.Info]*unstructured.Unstructured, force bool) error {
	var refused []immutable.Change
	objects := slices.SortedFunc(maps.Keys(changes), func(a, b *resource.Info) int {
		return cmp.Compare(renderedKey(k.release, a), renderedKey(k.release, b))
	})
	for _, object := range objects {
		if !force || !immutable.IsReplaceable(immutable.KindOf(contentOf(object))) {
			refused = append(refused, immutable.Change{Object: renderedKey(k.release, object), Fields: changes[object]})
		}
	}
	if len(refused) > 0 {
		return &immutable.Error{Changes: refused}
	}
	for _, object := range objects {
		if err := k.refuseReplacement(object, live[object]); err != nil {
			return fmt.Errorf("replacing %s to change %s: %w", titleOf(object), changes[object][0], err)
		}
	}
	return nil
}

// refuseReplacement returns why an object may not be deleted and created again.
func (k *kubeClient) refuseReplacement(object *resource.Info, live *unstructured.Unstructured) error {
	switch objectOwnershipOf(live.GetAnnotations(), k.release) {
	case ownedByNobody:
		return errors.New("it belongs to no release")
	case ownedByOther:
		return fmt.Errorf("it belongs to release %s", ownerKey(live))
	case ownedByRelease:
	}
	if isKept(live) {
		return fmt.Errorf("its annotation %s keeps it", wellknown.ResourcePolicy)
	}
	if k.within != "" && (!object.Namespaced() || object.Namespace != k.within) {
		return fmt.Errorf("it is outside namespace %s, to which the release is restricted", k.within)
	}
	return nil
}

// replace deletes an object whose immutable fields change. The caller then creates it. Before that,
// the API server has to accept the new object under another name. The deletion is completed after an
// interruption, so that the object is created in the same apply.
func (k *kubeClient) replace(object *resource.Info, live *unstructured.Unstructured, changed []string) error {
	if err := tryCreation(object); err != nil {
		return fmt.Errorf("trying the creation of %s before it is deleted: %w", titleOf(object), err)
	}
	policy := metav1.DeletePropagationBackground
	if immutable.KeepsPods(immutable.KindOf(contentOf(object)), changed) {
		policy = metav1.DeletePropagationOrphan
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.ctx), k.timeout)
	defer cancel()
	gone, err := deleteOne(ctx, object, policy, live.GetUID())
	if err == nil && !gone {
		err = k.cluster.WaitDeleted(ctx, []*resource.Info{object})
	}
	if err != nil {
		return fmt.Errorf("deleting %s to create it again: %w", titleOf(object), err)
	}
	return nil
}

// tryCreation lets the API server check the creation of an object under a generated name. It stores
// nothing.
func tryCreation(object *resource.Info) error {
	tried := (&unstructured.Unstructured{Object: contentOf(object)}).DeepCopy()
	tried.SetGenerateName(tried.GetName() + "-")
	tried.SetName("")
	tried.SetResourceVersion("")
	immutable.WithoutUnique(tried.Object)
	_, err := resource.NewHelper(object.Client, object.Mapping).WithFieldManager(fieldManager).DryRun(true).
		Create(object.Namespace, false, tried)
	return err
}

// updateOne lets Helm change or create an object. former is the object as the release had it before,
// see formerOf. An object that is replaced does not count as created, because it existed before.
func updateOne(
	k *kubeClient, object *resource.Info, former kube.ResourceList, live *unstructured.Unstructured, changed []string,
) (*kube.Result, error) {
	if len(changed) == 0 {
		return k.Client.UpdateThreeWayMerge(former, kube.ResourceList{object}, false)
	}
	if err := k.replace(object, live, changed); err != nil {
		return &kube.Result{}, err
	}
	done, err := k.Client.UpdateThreeWayMerge(nil, kube.ResourceList{object}, false)
	done.Created, done.Updated = nil, append(done.Updated, done.Created...)
	if err != nil {
		err = fmt.Errorf("creating %s again after its deletion: %w", titleOf(object), err)
	}
	return done, err
}
