package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// schema is a JSON schema of draft 7, which the language servers for YAML know best.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        []string           `json:"type,omitempty"`
	Enum        []any              `json:"enum,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	// Additional is the schema of keys that Properties lack, false if there are none.
	Additional any `json:"additionalProperties,omitempty"`
}

// definition returns the schema of a fleet.yaml. A missing value means the same as a missing key, so null
// is a value of everything.
func definition(described fields) *schema {
	root := place{described: described.root}
	made := root.object(reflect.TypeFor[fleetyaml.Definition](), "")
	made.Schema = "http://json-schema.org/draft-07/schema#"
	made.Title = "fleet.yaml"
	made.Description = "The keys of a fleet.yaml that terraform-provider-fleet reads."
	entry := place{described: described.entry}
	made.Properties["targets"].Items = entry.object(reflect.TypeFor[fleetyaml.Customization](), "")
	entry.takesNumbers = true
	made.Properties["targetCustomizations"].Items = entry.object(reflect.TypeFor[fleetyaml.Customization](), "")
	override := place{described: described.override, takesNumbers: true}
	made.Properties["overrideTargets"].Items = override.object(reflect.TypeFor[fleetyaml.OverrideTarget](), "")
	return made
}

// place is the root of a fleet.yaml, or an entry of targets or of overrideTargets. Paths of keys are
// relative to it.
type place struct {
	described map[string]behaviour
	// takesNumbers is set where a number or a boolean counts as text in labels and selectors.
	takesNumbers bool
}

// object returns the schema of a struct at a path.
func (p place) object(of reflect.Type, path string) *schema {
	made := &schema{Type: []string{"object", "null"}, Properties: map[string]*schema{}, Additional: false}
	for _, field := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		at := join(path, name)
		if name == "" || p.described[at].Here == "error" {
			continue
		}
		made.Properties[name] = p.value(field.Type, at)
		made.Properties[name].Description = p.described[at].Says
		if !strings.Contains(options, "omit") {
			made.Required = append(made.Required, name)
		}
	}
	for name, row := range p.described {
		// Keys that are read and have no effect. Their values can be anything.
		if _, known := made.Properties[name]; !known && path == "" && row.Here == "note" && !strings.Contains(name, ".") {
			made.Properties[name] = &schema{Description: row.Says}
		}
	}
	return made
}

// value returns the schema of a value at a path.
func (p place) value(of reflect.Type, path string) *schema {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch of.Kind() { //nolint:exhaustive // Values are of no other kinds, and text is left.
	case reflect.Struct:
		if of == reflect.TypeFor[fleetyaml.Count]() {
			return &schema{Type: []string{"integer", "string", "null"}}
		}
		return p.object(of, path)
	case reflect.Slice:
		return &schema{Type: []string{"array", "null"}, Items: p.item(of.Elem(), path)}
	case reflect.Map:
		made := &schema{Type: []string{"object", "null"}}
		if of.Elem().Kind() != reflect.Interface {
			made.Additional = p.item(of.Elem(), path)
		}
		return made
	case reflect.Bool:
		return &schema{Type: []string{"boolean", "null"}}
	case reflect.Int, reflect.Int64:
		return &schema{Type: []string{"integer", "null"}}
	}
	if slices.Contains([]string{"name", "clusterName", "clusterGroup"}, path) {
		return scalar()
	}
	return &schema{Type: []string{"string", "null"}, Enum: choices(path)}
}

// item returns the schema of an element of a list or map at a path.
func (p place) item(of reflect.Type, path string) *schema {
	top, _, _ := strings.Cut(path, ".")
	if of.Kind() == reflect.String && p.takesNumbers &&
		slices.Contains([]string{"clusterSelector", "clusterGroupSelector", "namespaceLabels", "namespaceAnnotations"}, top) {
		return scalar()
	}
	return p.value(of, path)
}

// scalar is the schema of text that may be written without quotes, whatever it looks like.
func scalar() *schema { return &schema{Type: []string{"string", "number", "boolean", "null"}} }

// choices returns all values of the text at a path, nil if it can be any text.
func choices(path string) []any {
	switch {
	case path == "targetCustomizationMode":
		return []any{fleetyaml.FirstMatch, fleetyaml.AllMatches, nil}
	case path == "dependsOn.acceptedStates":
		return []any{"Ready", "NotReady", "WaitApplied", "ErrApplied", "OutOfSync", "Pending", "Modified", nil}
	case strings.HasSuffix(path, ".matchExpressions.operator"):
		return []any{"In", "NotIn", "Exists", "DoesNotExist"}
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
