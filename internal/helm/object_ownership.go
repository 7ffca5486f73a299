package helm

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// objectOwnership is the relation of an object to a release by the live annotations of the
// object. A manifest does not decide what is deleted: every user who may write a record can
// write a manifest.
type objectOwnership int

const (
	ownedByNobody objectOwnership = iota
	ownedByOther
	ownedByRelease
)

// objectOwnershipOf compares the annotations of an object with a release, given as
// release.Key.
func objectOwnershipOf(annotations map[string]string, of string) objectOwnership {
	name, namespace := annotations[wellknown.ReleaseName], annotations[wellknown.ReleaseNamespace]
	switch {
	case release.Key(namespace, name) == of:
		return ownedByRelease
	case release.OtherRelease(of, namespace, name) != "":
		return ownedByOther
	}
	return ownedByNobody
}

// ownerKey returns the release that the annotations of an object name, as release.Key.
func ownerKey(object metav1.Object) string {
	annotations := object.GetAnnotations()
	return release.Key(annotations[wellknown.ReleaseNamespace], annotations[wellknown.ReleaseName])
}

// liveObject describes an object on the cluster. It is zero if the object does not exist.
type liveObject struct {
	uid  types.UID
	held objectOwnership
	// isKept is true if its annotation keeps it when its release is removed.
	isKept bool
	// owner is the release that its annotations name, as release.Key.
	owner string
	// namespace is "" for an object of the whole cluster.
	namespace string
}

// isWithin reports whether an object is in the namespace that its release is restricted to.
func (o liveObject) isWithin(namespace string) bool {
	return namespace == "" || o.namespace == namespace
}

// liveObjects reads the metadata of the existing objects of a release, by their keys. An
// object that may not be read is an error, because its owner is then unknown.
func liveObjects(ctx context.Context, cluster Cluster, of release.Observed, objects []diff.Object) (map[string]liveObject, error) {
	groups, err := groupsOf(cluster, []release.Wanted{{Release: of.Release, Namespace: of.Namespace, Objects: objects}})
	if err != nil {
		return nil, err
	}
	var (
		mu    sync.Mutex
		there = map[string]liveObject{}
	)
	err = eachThere(ctx, cluster, groups, func(at group, member member, live metav1.Object) {
		mu.Lock()
		defer mu.Unlock()
		there[member.object.Key()] = liveObject{
			uid: live.GetUID(), namespace: at.namespace,
			held: objectOwnershipOf(live.GetAnnotations(), release.Key(of.Namespace, of.Release)), owner: ownerKey(live),
			isKept: isKept(live),
		}
	}, func(error) bool { return false })
	if err != nil {
		return nil, fmt.Errorf("reading the owners of the objects of the release: %w", err)
	}
	return there, nil
}

// dropped deletes objects that a revision no longer has. An object must belong to the release,
// be in the namespace that the release is restricted to, and have no annotation that keeps it. An
// object that belongs to no release is noted.
func (k *kubeClient) dropped(objects kube.ResourceList) error {
	var (
		mu     sync.Mutex
		failed []error
	)
	for _, same := range batches(objects) {
		failed = append(failed, each(same, func(info *resource.Info) error {
			isNobodys, err := k.drop(info)
			if isNobodys {
				mu.Lock()
				defer mu.Unlock()
				k.notOwned = append(k.notOwned, keyOf(info))
			}
			return err
		})...)
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("removing objects that the release no longer contains: %w", joined(failed))
}

func (k *kubeClient) drop(info *resource.Info) (isNobodys bool, err error) {
	if k.within != "" && (!info.Namespaced() || info.Namespace != k.within) {
		return false, nil
	}
	if _, kept := k.keep[renderedKey(k.release, info)]; kept {
		return false, nil
	}
	live, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the owner of %s %s: %w", info.Mapping.GroupVersionKind.Kind, info.Name, err)
	}
	object, err := meta.Accessor(live)
	if err != nil {
		return false, fmt.Errorf("reading the annotations of %s %s: %w", info.Mapping.GroupVersionKind.Kind, info.Name, err)
	}
	if isKept(object) {
		return false, nil
	}
	if held := objectOwnershipOf(object.GetAnnotations(), k.release); held != ownedByRelease {
		return held == ownedByNobody, nil
	}
	_, err = deleteOne(k.ctx, info, metav1.DeletePropagationBackground, object.GetUID())
	return false, err
}

// isKept reports whether an object has the annotation that keeps it when its release no longer
// has it.
func isKept(object metav1.Object) bool {
	return strings.EqualFold(strings.TrimSpace(object.GetAnnotations()[wellknown.ResourcePolicy]), wellknown.KeepPolicy)
}
