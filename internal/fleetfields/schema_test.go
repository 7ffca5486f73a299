package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// jsonSchema is a part of the JSON schema of a fleet.yaml.
type jsonSchema struct {
	Type       []string               `json:"type"`
	Items      *jsonSchema            `json:"items"`
	Properties map[string]*jsonSchema `json:"properties"`
}

// The schema for editors has each field of Fleet's types that a fleet.yaml may have, with its type.
func TestSchemaHasTheFieldsOfFleet(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root(t), "schemas", "fleet-yaml.json"))
	if err != nil {
		t.Fatal(err)
	}
	var written jsonSchema
	if err := json.Unmarshal(text, &written); err != nil {
		t.Fatal(err)
	}
	places := map[string][]string{
		"FleetYAML":               {""},
		"BundleDeploymentOptions": {"", "targets.", "targetCustomizations."},
		"BundleTarget":            {"targets.", "targetCustomizations."},
		"GitTarget":               {"overrideTargets."},
	}
	types := fleetTypes()
	checked := 0
	for _, s := range loadTable(t).Sections {
		if places[s.Type] == nil {
			continue
		}
		w := newWalker(types, s.whole())
		w.walk("", types[s.Type])
		for _, r := range s.Rows {
			for _, field := range r.Fields {
				of, isOfFleet := w.fields[field]
				for _, place := range places[s.Type] {
					checked++
					found := written.at(strings.Split(place+field, "."))
					switch {
					case (found != nil) == (r.Here == failure):
						t.Errorf("%s%s is %q here, and the schema has %v", place, field, r.Here, found)
					case isOfFleet && found != nil && found.Type != nil && !slices.Contains(found.Type, typeInJSON(of)):
						t.Errorf("%s%s is a %s in Fleet, and the schema has %v", place, field, typeInJSON(of), found.Type)
					}
				}
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d fields were checked", checked)
	}
}

// at returns the schema at a path, nil if there is none.
func (s *jsonSchema) at(path []string) *jsonSchema {
	for _, name := range path {
		if s != nil && s.Items != nil {
			s = s.Items
		}
		if s == nil || s.Properties[name] == nil {
			return nil
		}
		s = s.Properties[name]
	}
	return s
}

// typeInJSON returns how JSON has a value of a type.
func typeInJSON(of reflect.Type) string {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case of == reflect.TypeFor[intstr.IntOrString]():
		return "integer"
	case of == reflect.TypeFor[metav1.Duration](), of.Kind() == reflect.String:
		return "string"
	case of.Kind() == reflect.Bool:
		return "boolean"
	case of.Kind() == reflect.Slice:
		return "array"
	case of.Kind() >= reflect.Int && of.Kind() <= reflect.Uint64:
		return "integer"
	}
	return "object"
}

func TestTypeInJSON(t *testing.T) {
	t.Parallel()
	for want, of := range map[string]reflect.Type{
		"object": reflect.TypeFor[*fleet.GenericMap](), "array": reflect.TypeFor[[]string](), "integer": reflect.TypeFor[*intstr.IntOrString](),
		"boolean": reflect.TypeFor[*bool](), "string": reflect.TypeFor[fleet.BundleState](),
	} {
		if got := typeInJSON(of); got != want {
			t.Errorf("%s is %s, want %s", of, got, want)
		}
	}
}
