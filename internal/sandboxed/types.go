package sandboxed

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// checkTypes returns an error if an object has a value that no API server accepts, because an apply
// would fail after it has written other objects. It only checks objects that an apply renders in
// the same way. The error names the template, or the file and the line of a plain manifest.
func checkTypes(d target.Deployment, made rendered, known knowledge) error {
	if known.namesVary {
		return nil
	}
	objects := slices.DeleteFunc(manifest.Flatten(made.objects), func(object *unstructured.Unstructured) bool {
		return known.varying[made.duplicates.identify(object).Key()]
	})
	if known.cause == "" { // Otherwise hooks can differ.
		objects = append(objects, manifest.Flatten(made.hooks)...)
	}
	for _, object := range objects {
		if err := manifest.CheckTypes(object); err != nil {
			return &render.ManifestError{Bundle: d.Bundle.Name, Err: located(d, made.duplicates.placeOf(object), err)}
		}
	}
	return nil
}

// located adds the place of an object to an error, if it is known.
func located(d target.Deployment, place string, err error) error {
	if place == "" {
		return err
	}
	if wrong, ok := errors.AsType[*manifest.WrongTypeError](err); ok {
		wrong.Locate(contentAt(d, place))
	}
	return &render.PlaceError{Place: place, Err: err}
}

// contentAt returns the content of a file of plain manifests, nil for a template.
func contentAt(d target.Deployment, place string) []byte {
	if _, isChart := d.Bundle.ChartDirectory(d.Options.Helm); isChart {
		return nil
	}
	name, _, _ := strings.Cut(place, " (document ")
	for _, file := range d.Bundle.PlainFiles() {
		if file.Name == name {
			return file.Content
		}
	}
	return nil
}
