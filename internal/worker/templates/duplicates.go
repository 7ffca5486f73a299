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
func (f *duplicateFinder) add(document *unstructured.Unstructured, place string) {
	_, isHook := manifest.Annotations(document)[wellknown.Hook]
	for _, object := range manifest.Flatten([]*unstructured.Unstructured{document}) {
		identity := f.identify(object)
		first, twice := f.places[identity.Key()]
		switch {
		case isHook:
			f.hooks[identity.Key()] = place
		case object.GetName() == "": // Each gets its own generated name.
		case !twice:
			f.places[identity.Key()] = place
		case f.found == nil:
			f.found = &render.DuplicateObjectError{Object: identity.Key(), Places: [2]string{first, place}}
		}
	}
}

// placeOf returns the place of an object that was added. It is "" for other objects, such as one
// that a kustomization has made.
func (f *duplicateFinder) placeOf(object *unstructured.Unstructured) string {
	return f.places[f.identify(object).Key()]
}

// locate sets the places of documents.
func (f *duplicateFinder) locate(documents []diff.Document) {
	for i := range documents {
		places := f.places
		if documents[i].Hook {
			places = f.hooks
		}
		documents[i].Place = places[documents[i].Key()]
	}
}

// check returns an error if an object was added twice.
func (f *duplicateFinder) check(d target.Deployment) error {
	if f.found == nil {
		return nil
	}
	return &render.ManifestError{Bundle: d.Bundle.Name, Err: f.found}
}

func (f *duplicateFinder) identify(object *unstructured.Unstructured) diff.Object {
	identity := manifest.Identify(object, f.namespace)
	if f.forced && identity.Namespace != "" {
		identity.Namespace = f.namespace
	}
	return identity
}
