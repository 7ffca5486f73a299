package templates

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// duplicateFinder finds objects that a bundle contains twice. Helm would create the first one and
// fail at the second one. A rendering that is only shown may contain duplicates, as in Fleet.
type duplicateFinder struct {
	namespace string
	forced    bool
	places    map[string]string            // diff.Object.Key -> the place of the object
	hooks     map[string]string            // the same for hooks, which can have equal keys
	found     *render.DuplicateObjectError // The first one, or nil.
}

func newDuplicateFinder(d target.Deployment) *duplicateFinder {
	return &duplicateFinder{namespace: d.Namespace, forced: d.Options.Namespace != "", places: map[string]string{}, hooks: map[string]string{}}
}

// add adds the objects of one document. Two hooks may have the same key: Helm creates them one
// after the other.
func (u *duplicateFinder) add(document *unstructured.Unstructured, place string) {
	_, isHook := manifest.Annotations(document)[wellknown.Hook]
	for _, object := range manifest.Flatten([]*unstructured.Unstructured{document}) {
		identity := u.identify(object)
		first, twice := u.places[identity.Key()]
		switch {
		case isHook:
			u.hooks[identity.Key()] = place
		case object.GetName() == "": // Each gets its own generated name.
		case !twice:
			u.places[identity.Key()] = place
		case u.found == nil:
			u.found = &render.DuplicateObjectError{Object: identity.Key(), Places: [2]string{first, place}}
		}
	}
}

// placeOf returns the place of an object that was added. It is "" for other objects, such as one
// that a kustomization has made.
func (u *duplicateFinder) placeOf(object *unstructured.Unstructured) string {
	return u.places[u.identify(object).Key()]
}

// locate sets the places of documents.
func (u *duplicateFinder) locate(documents []diff.Document) {
	for i := range documents {
		places := u.places
		if documents[i].Hook {
			places = u.hooks
		}
		documents[i].Place = places[documents[i].Key()]
	}
}

// check returns an error if an object was added twice.
func (u *duplicateFinder) check(d target.Deployment) error {
	if u.found == nil {
		return nil
	}
	return &render.ManifestError{Bundle: d.Bundle.Name, Err: u.found}
}

func (u *duplicateFinder) identify(object *unstructured.Unstructured) diff.Object {
	identity := manifest.Identify(object, u.namespace)
	if u.forced && identity.Namespace != "" {
		identity.Namespace = u.namespace
	}
	return identity
}
