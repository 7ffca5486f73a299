package helm

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// ExistingObjects finds the wanted objects that already exist and belong to another owner. It
// reads metadata only. The result is for a warning: kinds that the cluster does not have or
// that may not be read are left out.
func (c *Client) ExistingObjects(ctx context.Context, wanted []release.Wanted) ([]release.ExistingObject, error) {
	groups, err := groupsOf(c.connection, wanted)
	if err != nil {
		return nil, err
	}
	var (
		mu       sync.Mutex
		occupied []release.ExistingObject
	)
	return occupied, eachThere(ctx, c.connection, groups, func(_ group, member member, live metav1.Object) {
		if owner, of, other := ownerOf(live, member.wanted); other {
			mu.Lock()
			defer mu.Unlock()
			occupied = append(occupied, release.ExistingObject{Wanted: member.wanted, Object: member.object, Owner: owner, Release: of})
		}
	}, apierrors.IsForbidden)
}

// ownerOf returns the owner of an object as text and, if the owner is a release, also as
// release.Key. other is true if the owner is not the release that wants the object.
func ownerOf(object metav1.Object, wanted release.Wanted) (owner, of string, other bool) {
	annotations, labels := object.GetAnnotations(), object.GetLabels()
	name, namespace := annotations[wellknown.ReleaseName], annotations[wellknown.ReleaseNamespace]
	own := release.Key(wanted.Namespace, wanted.Release)
	switch at := release.Key(namespace, name); {
	case name == "" && labels[wellknown.ObjectSetHash] != "":
		return "Fleet's agent", "", true
	case name == "":
		return "no release", "", true
	case at == own && labels[wellknown.ManagedBy] != wellknown.ManagedByHelm:
		return fmt.Sprintf("release %s in namespace %s", name, namespace), "", true // Without the label, Helm does not accept the annotations.
	case at == wanted.Former, at == own:
		return "", "", false
	default:
		return fmt.Sprintf("release %s in namespace %s", name, namespace), at, true
	}
}
