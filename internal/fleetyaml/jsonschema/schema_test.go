package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

const (
	// repository is the folder of the repository, seen from here.
	repository = "../../.."
	fieldsFile = repository + "/internal/fleetfields/fields.yaml"
	schemaFile = repository + "/schemas/fleet-yaml.json"
)

func TestSchemaIsUpToDate(t *testing.T) {
	t.Parallel()
	made := filepath.Join(t.TempDir(), "schema.json")
	if err := run([]string{fieldsFile, made}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(content(t, made)), string(content(t, schemaFile))); diff != "" {
		t.Errorf("%s is not up to date; make generate writes it (-want +got):\n%s", schemaFile, diff)
	}
}

// The schema accepts what the provider reads, and refuses keys and types that it refuses: in the files of
// other tests and of examples.
func TestSchemaAgreesWithTheProvider(t *testing.T) {
	t.Parallel()
	compiled := compile(t)
	valid := 0
	for name, text := range fleetYAMLs(t) {
		value, err := decoded(text)
		if err != nil {
			continue // It is no YAML.
		}
		_, _, err = fleetyaml.Parser{Strict: true, ImageScans: true}.Parse(name, text)
		invalid, isInvalid := errors.AsType[*fleetyaml.Error](err)
		refused := compiled.Validate(value)
		switch {
		case err == nil:
			valid++
			if refused != nil {
				t.Errorf("%s is valid, and the schema refuses it: %v\n%s", name, refused, text)
			}
		case isInvalid && refused == nil && slices.ContainsFunc(invalid.Problems, isOfShape):
			t.Errorf("the schema accepts %s: %v\n%s", name, err, text)
		}
	}
	if valid < 50 {
		t.Errorf("there are only %d valid files", valid)
	}
}

// isOfShape reports whether a problem is one that a schema can find.
func isOfShape(p fleetyaml.Problem) bool {
	return p.Kind == fleetyaml.UnknownKey || p.Kind == fleetyaml.WrongType
}

// fleetYAMLs returns the fleet.yaml files of examples and fixtures, by name.
func fleetYAMLs(t *testing.T) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(repository), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && entry.Name()[0] == '.':
			return fs.SkipDir
		case path.Base(name) == "fleet.yaml":
			found[name] = content(t, filepath.Join(repository, filepath.FromSlash(name)))
		case path.Ext(name) == ".txtar":
			for _, file := range txtar.Parse(content(t, filepath.Join(repository, filepath.FromSlash(name)))).Files {
				if path.Base(file.Name) == "fleet.yaml" {
					found[name+": "+file.Name] = file.Data
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Each key of the schema is valid, and no other one in its place.
func TestSchemaRefusesMisspeltKeys(t *testing.T) {
	t.Parallel()
	compiled := compile(t)
	var root schema
	if err := json.Unmarshal(content(t, schemaFile), &root); err != nil {
		t.Fatal(err)
	}
	keys := 0
	var walk func(object *schema, within func(any) any)
	walk = func(object *schema, within func(any) any) {
		for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
			keys++
			around := func(value any) any {
				made := map[string]any{name: value}
				for _, required := range object.Required {
					if required != name {
						made[required] = object.Properties[required].sample()
					}
				}
				return within(made)
			}
			of := object.Properties[name]
			right := around(of.sample())
			if err := compiled.Validate(right); err != nil {
				t.Errorf("%v is refused: %v", right, err)
			}
			wrong := within(map[string]any{name + "s": of.sample()})
			if _, other := object.Properties[name+"s"]; !other && compiled.Validate(wrong) == nil {
				t.Errorf("%v is accepted", wrong)
			}
			below := around
			if of.Items != nil {
				of, below = of.Items, func(value any) any { return around([]any{value}) }
			}
			walk(of, below)
		}
	}
	walk(&root, func(value any) any { return value })
	if keys < 200 {
		t.Errorf("the schema has only %d keys", keys)
	}
}

// sample returns a value that the schema accepts.
func (s *schema) sample() any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.Type) == 0:
		return "text"
	}
	switch s.Type[0] {
	case "object":
		made := map[string]any{}
		for _, name := range s.Required {
			made[name] = s.Properties[name].sample()
		}
		return made
	case "array":
		return []any{}
	case "boolean":
		return true
	case "integer":
		return 1
	}
	return "text"
}

// The provider takes the values of each list of choices, and no others.
func TestChoices(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		path string
		file func(value string) string
	}{
		"mode":     {path: "targetCustomizationMode", file: func(value string) string { return "targetCustomizationMode: " + value }},
		"states":   {path: "dependsOn.acceptedStates", file: func(value string) string { return "dependsOn: [{name: a, acceptedStates: [" + value + "]}]" }},
		"operator": {path: "clusterSelector.matchExpressions.operator", file: expression},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := fleetyaml.Parse("fleet.yaml", []byte(test.file("Other")), true); err == nil {
				t.Error("another value is accepted")
			}
			for _, choice := range choices(test.path) {
				value, isText := choice.(string)
				if _, _, err := fleetyaml.Parse("fleet.yaml", []byte(test.file(value)), true); isText && err != nil {
					t.Errorf("%s: %v", value, err)
				}
			}
		})
	}
}

// expression is a file with a selector.
func expression(operator string) string {
	values := ", values: [b]"
	if operator == "Exists" || operator == "DoesNotExist" {
		values = ""
	}
	return "targetCustomizations: [{clusterSelector: {matchExpressions: [{key: a, operator: " + operator + values + "}]}}]"
}

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(content(t, schemaFile)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("fleet-yaml.json", parsed); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("fleet-yaml.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// decoded returns the content of a file as an editor sees it.
func decoded(text []byte) (any, error) {
	plain, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(plain))
}

func content(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
