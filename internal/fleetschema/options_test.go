package fleetschema

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// Each key of a fleet.yaml has an attribute, except keys that only controllers use; and each
// attribute is a key of a fleet.yaml.
func TestOptionsAreThoseOfFleetYAML(t *testing.T) {
	t.Parallel()
	attributes := Definition()
	maps.Copy(attributes, Options())
	got := fieldPaths("", attributes)
	want := jsonPaths("", reflect.TypeFor[fleetyaml.Definition]())
	for _, path := range []string{"name", "imageScans", "targets", "downstreamResources", "targetCustomizations.downstreamResources"} {
		want = slices.DeleteFunc(want, func(field string) bool { return field == path || strings.HasPrefix(field, path+".") })
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-fleet.yaml +attributes):\n%s", diff)
	}
}

// fieldPaths returns the names of attributes in a fleet.yaml, with the names of nested attributes.
func fieldPaths(prefix string, attributes map[string]schema.Attribute) []string {
	var paths []string
	for name, attribute := range attributes {
		if name == "all" { // A fleet.yaml has an empty selector instead.
			continue
		}
		path := prefix + fleetyaml.FieldName(name)
		paths = append(paths, path)
		switch attribute := attribute.(type) {
		case schema.SingleNestedAttribute:
			paths = append(paths, fieldPaths(path+".", attribute.Attributes)...)
		case schema.ListNestedAttribute:
			paths = append(paths, fieldPaths(path+".", attribute.NestedObject.Attributes)...)
		}
	}
	return paths
}

func jsonPaths(prefix string, of reflect.Type) []string {
	var paths []string
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		path := prefix + name
		paths = append(paths, path)
		below := field.Type
		for below.Kind() == reflect.Pointer || below.Kind() == reflect.Slice {
			below = below.Elem()
		}
		if below.Kind() == reflect.Struct && below != reflect.TypeFor[fleetyaml.Count]() {
			paths = append(paths, jsonPaths(path+".", below)...)
		}
	}
	return paths
}
