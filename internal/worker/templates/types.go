package templates

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// checkTypes returns an error if an object has a value that no API server accepts, because an apply
// would fail after it has written other objects. It returns the fields that API servers do not know.
// It only checks objects that an apply renders in the same way. The results name the template, or the
// file and the line of a plain manifest.
func checkTypes(d target.Deployment, made rendered, known knowledge) ([]release.UnknownField, error) {
	if known.namesVary {
		return nil, nil
	}
	objects := slices.DeleteFunc(manifest.Flatten(made.objects), func(object *unstructured.Unstructured) bool {
		return known.varying[made.duplicates.identify(object).Key()]
	})
	if known.cause == "" { // Otherwise hooks can differ.
		objects = append(objects, manifest.Flatten(made.hooks)...)
	}
	var unknown []release.UnknownField
	for _, object := range objects {
		fields, err := manifest.CheckTypes(object)
		if err != nil {
			return nil, &render.ManifestError{Bundle: d.Bundle.Name, Err: located(d, made.duplicates.placeOf(object), err)}
		}
		unknown = append(unknown, locatedFields(d, made.duplicates.placeOf(object), fields)...)
	}
	return unknown[:min(len(unknown), maxUnknownFields)], nil
}

// maxUnknownFields is the maximum number of unknown fields that a rendering names.
const maxUnknownFields = 100

// locatedFields adds the place of their object to fields.
func locatedFields(d target.Deployment, place string, fields []manifest.UnknownField) []release.UnknownField {
	var found []release.UnknownField
	for _, field := range fields {
		found = append(found, release.UnknownField{
			Place: release.Place{File: place, Line: field.Line(contentAt(d, place))}, Object: field.Object, Field: field.Field,
		})
	}
	return found
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
