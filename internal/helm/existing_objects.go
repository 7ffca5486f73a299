package helm

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// refuseExisting returns an *ExistingObjectsError if objects of a release are there already
// that it must not adopt. Helm adopts those that name the release as theirs
// (pkg/action/validate.go, existingResourceConflict): right if the release is known and its
// record was lost, and an adoption that nobody agreed to if it is not, as leftovers says.
// It refuses all others, unless it may take ownership, as for a release that moves:
// then only those of the former releases are adopted, and those that move to it. It is asked after Helm has looked,
// and before anything of the release is written.
func (k *kubeClient) refuseExisting(w release.Write, leftovers bool) error {
	var own, foreign []string
	for _, info := range k.expected {
		live, err := k.ahead.liveOf(info)
		if err != nil {
			return err
		}
		if live == nil {
			continue
		}
		annotations := live.GetAnnotations()
		owner := release.Key(annotations[wellknown.ReleaseNamespace], annotations[wellknown.ReleaseName])
		switch {
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

// movesTo says whether an object moves to a release from its owner, or from another one
// and an earlier try has written it already.
func movesTo(w release.Write, to string, info *resource.Info, owner string) bool {
	from, moves := w.Taken[renderedKey(to, info)]
	return moves && (slices.Contains(from, owner) || owner == to)
}

// renderedKey is the key of an object as a rendering of a release names it, which does not
// know which custom resources have no namespace.
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

// titleOf is such as "Deployment web/nginx".
func titleOf(info *resource.Info) string {
	object := info.Name
	if info.Namespaced() {
		object = release.Key(info.Namespace, info.Name)
	}
	return info.Mapping.GroupVersionKind.Kind + " " + object
}

// staysForNext says whether an object was left for the next release of the same name.
func staysForNext(info *resource.Info, live metav1.Object) bool {
	// A definition stays as all resources of its kind would go with it, and those of this
	// very release are made before it is stored, see definer.
	if info.Mapping.GroupVersionKind.Kind == manifest.CRDKind {
		return true
	}
	return isKept(live) // It asks for that itself.
}
