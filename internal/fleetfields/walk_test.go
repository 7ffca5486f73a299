package main

import (
	"reflect"
	"slices"
	"strings"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fleetModule is the beginning of the import paths of Fleet's own types. Other types, such as label
// selectors and metadata, are not entered: their fields have their meaning in Kubernetes.
const fleetModule = "github.com/rancher/fleet/"

// fleetTypes returns the types that have a section of their own in the table.
func fleetTypes() map[string]reflect.Type {
	types := make(map[string]reflect.Type)
	for _, t := range []reflect.Type{
		reflect.TypeFor[fleet.FleetYAML](),
		reflect.TypeFor[fleet.BundleDeploymentOptions](),
		reflect.TypeFor[fleet.BundleTarget](),
		reflect.TypeFor[fleet.GitTarget](),
		reflect.TypeFor[fleet.GitRepo](),
		reflect.TypeFor[fleet.Bundle](),
		reflect.TypeFor[fleet.HelmOp](),
		reflect.TypeFor[fleet.Cluster](),
		reflect.TypeFor[fleet.ClusterGroup](),
		reflect.TypeFor[fleet.Schedule](),
		reflect.TypeFor[fleet.Policy](),
		reflect.TypeFor[fleet.GitRepoRestriction](),
	} {
		types[t.Name()] = t
	}
	return types
}

// walker lists the fields of a type that need a row, by their paths in YAML.
type walker struct {
	// sections are types that are not entered, because they have a section of their own.
	sections map[reflect.Type]string
	// whole are paths that are not entered, because their row covers the fields below.
	whole map[string]bool

	// fields are the types of the fields that were found.
	fields map[string]reflect.Type
	// includes are the sections of embedded types.
	includes []string
}

func newWalker(types map[string]reflect.Type, whole []string) *walker {
	w := &walker{sections: make(map[reflect.Type]string), whole: make(map[string]bool), fields: make(map[string]reflect.Type)}
	for name, t := range types {
		w.sections[t] = name
	}
	for _, path := range whole {
		w.whole[path] = true
	}
	return w
}

// walk adds the fields of a struct. As in encoding/json, a field hides those of embedded structs
// with the same name.
func (w *walker) walk(prefix string, of reflect.Type) {
	var embedded []reflect.Type
	for field := range of.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-", !field.IsExported() && !field.Anonymous, field.Type == reflect.TypeFor[metav1.TypeMeta]():
			// apiVersion and kind identify the type of the object; they are no fields of it.
		case field.Anonymous && (name == "" || strings.Contains(options, "inline")):
			embedded = append(embedded, field.Type)
		default:
			w.add(prefix+name, field.Type)
		}
	}
	for _, t := range embedded {
		section, ok := w.sections[t]
		if !ok {
			w.walk(prefix, t)
			continue
		}
		if !slices.Contains(w.includes, section) {
			w.includes = append(w.includes, section)
		}
	}
}

// add adds a field, or those below it if it is a struct of Fleet.
func (w *walker) add(path string, of reflect.Type) {
	if _, hidden := w.fields[path]; hidden {
		return
	}
	inner := elem(of)
	_, hasSection := w.sections[inner]
	own := inner.Kind() == reflect.Struct && strings.HasPrefix(inner.PkgPath(), fleetModule)
	// A struct without fields in YAML, such as a map of values, is a field itself.
	if own && !hasSection && !w.whole[path] && len(reflect.VisibleFields(inner)) > 0 && !isOpaque(inner) {
		w.walk(path+".", inner)
		return
	}
	w.fields[path] = of
}

// elem returns the element type of pointers, lists and maps.
func elem(of reflect.Type) reflect.Type {
	for {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			of = of.Elem()
		default:
			return of
		}
	}
}

// isOpaque reports whether a struct has no field with a name of its own.
func isOpaque(of reflect.Type) bool {
	for _, field := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" && field.IsExported() {
			return false
		}
	}
	return true
}
