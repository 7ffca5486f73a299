package policyexamples

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the mock for Sentinel") //nolint:gochecknoglobals // a flag of the test binary

// mockOf is a plan as a mock of Sentinel's tfplan/v2: one assignment for each collection, and the
// changes of resources by their address.
func mockOf(plan map[string]any) (string, error) {
	changes, _ := plan["resource_changes"].([]any)
	byAddress := make(map[string]any, len(changes))
	for _, change := range changes {
		resource, ok := change.(map[string]any)
		if !ok {
			return "", fmt.Errorf("a change of a resource is a %T", change)
		}
		address, ok := resource["address"].(string)
		if !ok {
			return "", fmt.Errorf("a resource has the address %v", resource["address"])
		}
		byAddress[address] = resource
	}
	var mock strings.Builder
	mock.WriteString("# Written by the tests of internal/policyexamples with -update. Change the plan, not this file.\n")
	for _, collection := range []struct {
		name  string
		value any
	}{{"raw", plan}, {"resource_changes", byAddress}} {
		mock.WriteString("\n" + collection.name + " = ")
		if err := writeValue(&mock, collection.value, ""); err != nil {
			return "", err
		}
		mock.WriteString("\n")
	}
	return mock.String(), nil
}

// writeValue writes a value of JSON as Sentinel does: with tabs, and a comma after each element.
func writeValue(mock *strings.Builder, value any, indent string) error {
	inner := indent + "\t"
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			mock.WriteString("{}")
			return nil
		}
		mock.WriteString("{\n")
		for _, key := range slices.Sorted(maps.Keys(value)) {
			mock.WriteString(inner)
			if err := writeValue(mock, key, inner); err != nil {
				return err
			}
			mock.WriteString(": ")
			if err := writeValue(mock, value[key], inner); err != nil {
				return err
			}
			mock.WriteString(",\n")
		}
		mock.WriteString(indent + "}")
	case []any:
		if len(value) == 0 {
			mock.WriteString("[]")
			return nil
		}
		mock.WriteString("[\n")
		for _, element := range value {
			mock.WriteString(inner)
			if err := writeValue(mock, element, inner); err != nil {
				return err
			}
			mock.WriteString(",\n")
		}
		mock.WriteString(indent + "]")
	default:
		// Strings, numbers, booleans and null are written as in JSON.
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			return fmt.Errorf("writing a value: %w", err)
		}
		mock.WriteString(strings.TrimSpace(text.String()))
	}
	return nil
}

// readMock reads a mock without the code that wrote it. Its collections are JSON with a comma too much
// before each closing bracket.
func readMock(t *testing.T, mock string) map[string]any {
	t.Helper()
	collections := map[string]any{}
	name, lines := "", []string{}
	for line := range strings.Lines(mock) {
		if key, value, found := strings.Cut(line, " = "); found && !strings.HasPrefix(line, "\t") {
			name, line = key, value
		}
		if name == "" {
			continue
		}
		closes := strings.HasPrefix(strings.TrimLeft(line, "\t"), "}") || strings.HasPrefix(strings.TrimLeft(line, "\t"), "]")
		if last := len(lines) - 1; closes && last >= 0 {
			lines[last] = strings.TrimSuffix(lines[last], ",\n")
		}
		lines = append(lines, line)
		if strings.HasPrefix(line, "}") || line == "{}\n" {
			var value any
			if err := json.Unmarshal([]byte(strings.Join(lines, "")), &value); err != nil {
				t.Fatalf("reading the collection %s: %v", name, err)
			}
			collections[name] = value
			name, lines = "", nil
		}
	}
	return collections
}

// The sentinel program is not available to tests. The mock must at least have the content of the plan.
func TestMockIsThePlan(t *testing.T) {
	t.Parallel()
	recorded := recorded(t)
	mock, err := mockOf(recorded.content)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(examples, "mock-tfplan-v2.sentinel")
	if *update {
		if err := os.WriteFile(path, []byte(mock), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(content), mock); diff != "" {
		t.Errorf("the mock is different; go test -update writes it (-want +got):\n%s", diff)
	}
	collections := readMock(t, string(content))
	if diff := cmp.Diff(any(recorded.content), collections["raw"]); diff != "" {
		t.Errorf("raw is not the plan (-plan +mock):\n%s", diff)
	}
	byAddress, _ := collections["resource_changes"].(map[string]any)
	changes, _ := recorded.content["resource_changes"].([]any)
	if len(byAddress) != len(changes) || len(changes) == 0 {
		t.Errorf("the mock has %d changes of resources, and the plan %d", len(byAddress), len(changes))
	}
	for address, change := range byAddress {
		if diff := cmp.Diff(any(recorded.resource(address)), change); diff != "" {
			t.Errorf("%s (-plan +mock):\n%s", address, diff)
		}
	}
}
