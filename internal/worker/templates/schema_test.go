package templates_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A schema cannot read files or connect to hosts.
func TestSchemaRefersToNothingOutside(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	connected := make(chan struct{}, 1)
	go func() {
		if _, err := listener.Accept(); err == nil {
			connected <- struct{}{}
		}
	}()
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte("not to be read"), 0o600); err != nil {
		t.Fatal(err)
	}
	host := "http://" + listener.Addr().String() + "/s.json"
	tests := map[string]struct {
		schema    string
		skip      bool
		unchecked bool
	}{
		"a file":                 {schema: `{"$ref": "file://` + file + `"}`, unchecked: true},
		"a relative file":        {schema: `{"properties": {"a": {"$ref": "other.json"}}}`, unchecked: true},
		"a host":                 {schema: `{"$ref": "` + host + `"}`, unchecked: true},
		"a host by its id":       {schema: `{"$id": "` + strings.TrimSuffix(host, "s.json") + `", "properties": {"a": {"$ref": "s.json"}}}`, unchecked: true},
		"a metaschema of a host": {schema: `{"$schema": "` + host + `"}`, unchecked: true},
		"the newest draft":       {schema: `{"$schema": "http://json-schema.org/schema#"}`},
		"a reference to that":    {schema: `{"properties": {"a": {"$ref": "http://json-schema.org/schema#"}}}`, unchecked: true},
		"a list":                 {schema: `{"allOf": [{"$ref": "` + host + `"}]}`, unchecked: true},
		"skipped":                {schema: `{"$ref": "` + host + `"}`, skip: true},
		"a definition":           {schema: `{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "string"}}, "properties": {"a": {"$ref": "#/definitions/a"}}}`},
		"a part with an id":      {schema: `{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"a": {"$id": "https://example.com/a", "type": "string"}}, "properties": {"a": {"$ref": "https://example.com/a"}}}`},
		"a property called $ref": {schema: `{"properties": {"$ref": {"type": "string"}}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rendering, err := newCharts().Render(t.Context(), deployment(map[string]string{
				"Chart.yaml": chartYAML, "values.schema.json": test.schema, "templates/a.yaml": configMap("a", "x"),
			}, func(d *target.Deployment) { d.Options.Helm = &fleetyaml.Helm{SkipSchemaValidation: test.skip} }))
			if err != nil {
				t.Fatal(err)
			}
			if unchecked := len(rendering.UncheckedSchemas) > 0; unchecked != test.unchecked {
				t.Errorf("unchecked references are %q", rendering.UncheckedSchemas)
			}
		})
	}
	t.Cleanup(func() {
		select {
		case <-connected:
			t.Error("a schema connected to a host")
		default:
		}
	})
}

// What a schema says itself is checked, also beside a reference to another document.
func TestRestOfASchemaIsChecked(t *testing.T) {
	t.Parallel()
	_, err := newCharts().Render(t.Context(), deployment(map[string]string{
		"Chart.yaml":         chartYAML,
		"values.schema.json": `{"$ref": "https://example.com/a.json", "properties": {"size": {"type": "integer"}, "b": {"$ref": "b.json"}}}`,
		"templates/a.yaml":   configMap("a", "x"),
	}, withValues(map[string]any{"size": "large", "b": 1})))
	mistake, ok := errors.AsType[*render.SchemaError](err)
	if !ok || !strings.Contains(mistake.Error(), "size") {
		t.Errorf("error = %v, want one about size", err)
	}
}
