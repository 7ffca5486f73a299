package helm

import (
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// refuseExisting returns an *ExistingObjectsError if objects of a release already exist and
// the release must not adopt them. Helm adopts objects that name the release as their owner
// (pkg/action/validate.go, existingResourceConflict). That is right if the release is known
// and its record was lost. If leftovers is set, the release is not known, and the user did not
// agree to an adoption. Helm refuses all other objects, unless it may take ownership, as for a
// release that moves. Then only objects of the former releases and objects that move to this
// release are adopted. refuseExisting is called after Helm's own check and before any object
// of the release is written.
func (k *kubeClient) refuseExisting(w release.Write, leftovers bool) error {
	var own, foreign []string
	for _, info := range k.expected {
		live, err := k.cache.liveOf(info)
		if err != nil {
			return err
		}
		if live == nil {
			continue
		}
		switch owner := ownerKey(live); {
		case slices.Contains(w.Former, owner), movesTo(w, k.release, info, owner):
		case owner != k.release:
			foreign = append(foreign, titleOf(info))
		case leftovers && !staysForNext(info, live):
			own = append(own, titleOf(info))
		}
	}
	if len(own) > 0 {
		return existingObjects(k.release, own, false)
	}
	if len(foreign) > 0 && w.MovesObjects() {
		return existingObjects(k.release, foreign, true)
	}
	return nil
}

// refuseOthers returns an *ExistingObjectsError if objects belong to another release. Helm checks
// only those that a revision adds, and takes back all others (pkg/action/upgrade.go).
func refuseOthers(k *kubeClient, live map[*resource.Info]*unstructured.Unstructured, target kube.ResourceList) error {
	var foreign []string
	for _, info := range target {
		object := live[info]
		if object == nil {
			continue
		}
		annotations := object.GetAnnotations()
		owner := release.OtherRelease(k.release, annotations[wellknown.ReleaseNamespace], annotations[wellknown.ReleaseName])
		if owner != "" && !k.admits(info, owner) {
			foreign = append(foreign, titleOf(info)+" of release "+owner)
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	return existingObjects(k.release, foreign, true)
}

// movesTo reports whether an object moves to a release. Its owner is one of the former
// releases, or already the new one if an earlier try has written the object.
func movesTo(w release.Write, to string, info *resource.Info, owner string) bool {
	from, moves := w.Taken[renderedKey(to, info)]
	return moves && (slices.Contains(from, owner) || owner == to)
}

// renderedKey is the key of an object in the rendering of a release. A rendering does not show
// which custom resources have no namespace.
func renderedKey(of string, info *resource.Info) string {
	namespace, _, _ := strings.Cut(of, "/")
	object, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return keyOf(info)
	}
	return manifest.Identify(object, namespace).Key()
}

func existingObjects(of string, objects []string, foreign bool) *ExistingObjectsError {
	namespace, name, _ := strings.Cut(of, "/")
	slices.Sort(objects)
	return &ExistingObjectsError{Release: name, Namespace: namespace, Objects: slices.Compact(objects), Foreign: foreign}
}

// titleOf returns a title such as "Deployment web/nginx".
func titleOf(info *resource.Info) string {
	object := info.Name
	if info.Namespaced() {
		object = release.Key(info.Namespace, info.Name)
	}
	return info.Mapping.GroupVersionKind.Kind + " " + object
}

// staysForNext reports whether an object was kept for the next release of the same name.
func staysForNext(info *resource.Info, live metav1.Object) bool {
	// A definition stays, because its deletion would also delete all resources of its kind.
	// This release creates its own definitions before its record is stored, see installDefinitions.
	if info.Mapping.GroupVersionKind.Kind == manifest.CRDKind {
		return true
	}
	return isKept(live) // The object has an annotation that keeps it.
}
