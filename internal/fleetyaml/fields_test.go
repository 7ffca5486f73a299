package fleetyaml_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// fleetFields is the part of internal/fleetfields/fields.yaml about a fleet.yaml.
type fleetFields struct {
	Sections []struct {
		Type string     `json:"type"`
		Rows []fieldRow `json:"rows"`
	} `json:"sections"`
}

type fieldRow struct {
	Fields  []string  `json:"fields"`
	Here    string    `json:"here"`
	Custom  *fieldRow `json:"custom"`
	Example any       `json:"example"`
}

func (f fleetFields) rows(t *testing.T, section string) []fieldRow {
	t.Helper()
	for _, s := range f.Sections {
		if s.Type == section {
			return s.Rows
		}
	}
	t.Fatalf("there is no section %s", section)
	return nil
}

func readFleetFields(t *testing.T) fleetFields {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "fleetfields", "fields.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var f fleetFields
	if err := sigsyaml.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// The table of Fleet's fields has the right effect of each key of a fleet.yaml: effect, error or
// note.
func TestFieldsOfFleet(t *testing.T) {
	t.Parallel()

	fields := readFleetFields(t)
	check := func(prefix string, rows []fieldRow) {
		for _, row := range rows {
			for _, field := range row.Fields {
				checkField(t, prefix+field, row.Here, row.Example)
			}
		}
	}
	options := fields.rows(t, "BundleDeploymentOptions")
	check("", fields.rows(t, "FleetYAML"))
	check("", options)
	check("overrideTargets.", fields.rows(t, "GitTarget"))
	for _, list := range []string{"targets.", "targetCustomizations."} {
		check(list, fields.rows(t, "BundleTarget"))
		for _, row := range options {
			check(list, []fieldRow{{Fields: row.Fields, Here: row.Custom.Here, Example: row.Example}})
		}
	}
}

// checkField parses a fleet.yaml that sets one field and nothing else.
func checkField(t *testing.T, field, here string, example any) {
	t.Helper()
	text, err := json.Marshal(sample(reflect.TypeFor[fleetyaml.Definition](), strings.Split(field, "."), example))
	if err != nil {
		t.Fatal(err)
	}
	_, notes, err := fleetyaml.Parser{Strict: true, ImageScans: true}.Parse("fleet.yaml", text)
	got := "effect"
	switch {
	case err != nil:
		got = "error"
	case len(notes) > 0:
		got = "note"
	}
	if here == "not applicable" {
		here = "effect" // The key is read, and has no effect.
	}
	if got != here {
		t.Errorf("%s: %s is %s, and the table says %s (%v, %v)", text, field, got, here, notes, err)
	}
}

// sample returns a value for typ that sets the field at the end of a path. A key that typ does not
// have gets a value that is not empty.
func sample(typ reflect.Type, path []string, example any) any {
	for typ != nil && typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case typ != nil && typ.Kind() == reflect.Slice:
		return []any{sample(typ.Elem(), path, listed(example))}
	case typ != nil && typ.Kind() == reflect.Map && typ.Elem().Kind() == reflect.String:
		return map[string]any{"key": "text"}
	case len(path) > 0:
		made := map[string]any{path[0]: sample(fieldOf(typ, path[0]), path[1:], example)}
		if typ == reflect.TypeFor[fleetyaml.Dependency]() && path[0] != "selector" {
			made["name"] = "text" // An entry with neither name nor selector is an error.
		}
		return made
	case example != nil:
		return example
	case typ == nil || typ.Kind() == reflect.Map:
		return map[string]any{"key": "text"}
	}
	switch typ.Kind() { //nolint:exhaustive // Fields are of no other kinds.
	case reflect.Bool:
		return true
	case reflect.Int, reflect.Int64:
		return 1
	case reflect.String:
		return "text"
	}
	if typ == reflect.TypeFor[fleetyaml.Count]() {
		return 1
	}
	return map[string]any{}
}

// listed returns the first item of an example that is a list.
func listed(example any) any {
	if list, ok := example.([]any); ok {
		return list[0]
	}
	return example
}

func fieldOf(typ reflect.Type, name string) reflect.Type {
	if typ == nil || typ.Kind() != reflect.Struct {
		return nil
	}
	for _, field := range reflect.VisibleFields(typ) {
		if jsonName(field) == name {
			return field.Type
		}
	}
	return nil
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// Each key that is read has a row in the table, even if Fleet does not have the key.
func TestFieldsAreInTheTable(t *testing.T) {
	t.Parallel()

	fields := readFleetFields(t)
	var listed []string
	list := func(prefix string, rows []fieldRow) {
		for _, row := range rows {
			for _, field := range row.Fields {
				listed = append(listed, prefix+field)
			}
		}
	}
	list("", fields.rows(t, "FleetYAML"))
	list("", fields.rows(t, "BundleDeploymentOptions"))
	list("overrideTargets.", fields.rows(t, "GitTarget"))
	for _, prefix := range []string{"targets.", "targetCustomizations."} {
		list(prefix, fields.rows(t, "BundleTarget"))
		list(prefix, fields.rows(t, "BundleDeploymentOptions"))
	}
	var missing []string
	for _, path := range leaves("", reflect.TypeFor[fleetyaml.Definition]()) {
		if !slices.Contains(listed, path) {
			missing = append(missing, path)
		}
	}
	if diff := cmp.Diff([]string(nil), missing); diff != "" {
		t.Errorf("keys without a row in internal/fleetfields/fields.yaml (-want +got):\n%s", diff)
	}
}

// leaves returns the paths of the fields of a struct that contain no other fields.
func leaves(prefix string, of reflect.Type) []string {
	var paths []string
	whole := []reflect.Type{reflect.TypeFor[fleetyaml.Count](), reflect.TypeFor[fleetyaml.Selector](), reflect.TypeFor[fleetyaml.ImageScan]()}
	for _, field := range reflect.VisibleFields(of) {
		name := jsonName(field)
		if name == "" {
			continue
		}
		below := field.Type
		for below.Kind() == reflect.Pointer || below.Kind() == reflect.Slice {
			below = below.Elem()
		}
		switch {
		case below.Kind() != reflect.Struct, slices.Contains(whole, below):
			paths = append(paths, prefix+name)
		default:
			paths = append(paths, leaves(prefix+name+".", below)...)
		}
	}
	return paths
}
