package helm

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// refuseExisting returns an *ExistingObjectsError if objects of a release are there already
// that it must not adopt. Helm adopts those that name the release as theirs
// (pkg/action/validate.go, existingResourceConflict): right if the release is known and its
// record was lost, and an adoption that nobody agreed to if it is not, as leftovers says.
// It refuses all others, unless it is told to take ownership, as for a release that moves:
// then only those of the former releases are adopted. It is asked after Helm has looked,
// and before anything of the release is written.
func (k *kubeClient) refuseExisting(w release.Write, leftovers bool) error {
	var own, foreign []string
	for _, info := range k.expected {
		live, err := k.liveOf(info)
		if err != nil {
			return err
		}
		if live == nil {
			continue
		}
		annotations := live.GetAnnotations()
		holder := release.Key(annotations[releaseNamespaceAnnotation], annotations[releaseNameAnnotation])
		switch {
		case slices.Contains(w.Former, holder):
		case holder != k.release:
			foreign = append(foreign, titleOf(info))
		case leftovers && !staysForNext(info, live):
			own = append(own, titleOf(info))
		}
	}
	if len(own) > 0 {
		return existingObjects(k.release, own, false)
	}
	if len(foreign) > 0 && len(w.Former) > 0 {
		return existingObjects(k.release, foreign, true)
	}
	return nil
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

// liveOf is an object as Helm has just read it, nil if it is not there.
func (k *kubeClient) liveOf(info *resource.Info) (metav1.Object, error) {
	if live, isRead := k.ahead.wasThere(info); isRead {
		if live == nil {
			return nil, nil //nolint:nilnil // a missing object is an answer, not an error
		}
		return live, nil
	}
	// Lists of this kind may not be read, or it has been found out one by one.
	live, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, fmt.Errorf("looking whether %s %s is there: %w", info.Mapping.GroupVersionKind.Kind, info.Name, err)
	}
	return meta.Accessor(live)
}
