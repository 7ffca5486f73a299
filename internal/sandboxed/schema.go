package sandboxed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
)

// OutsideReferenceError reports that the schema of a chart refers to a document outside of the
// schema. Helm would read the file, or connect to the host.
type OutsideReferenceError struct {
	// Chart is the name of the chart, and Reference is the reference in its schema.
	Chart, Reference string
}

func (e *OutsideReferenceError) Error() string {
	return fmt.Sprintf("values.schema.json of chart %s refers to %q, which is not part of the schema; copy it into the schema, or set helm.skipSchemaValidation", e.Chart, e.Reference)
}

// checkSchemas returns an error if the schema of a chart or a subchart refers to a document outside
// of the schema.
func checkSchemas(c *chart.Chart) error {
	if err := checkSchema(c); err != nil {
		return err
	}
	for _, child := range c.Dependencies() {
		if err := checkSchemas(child); err != nil {
			return err
		}
	}
	return nil
}

func checkSchema(c *chart.Chart) error {
	var schema any
	if json.Unmarshal(c.Schema, &schema) != nil { // Helm reports what is wrong with the schema.
		schema = nil
	}
	var found references
	found.read(schema)
	for _, to := range found.to {
		document, _, _ := strings.Cut(to, "#")
		if document != "" && !isMetaschema(document) && !slices.Contains(found.ids, document) {
			return &OutsideReferenceError{Chart: c.Name(), Reference: to}
		}
	}
	return nil
}

// isMetaschema reports whether the library includes a document. It includes those of JSON Schema
// itself.
func isMetaschema(document string) bool {
	_, path, ok := strings.Cut(document, "://json-schema.org/")
	return ok && strings.HasPrefix(path, "draft")
}

// isNewestDraft reports whether $schema of a schema is the name of the newest draft that the
// library supports. Many charts of prometheus-community use this name. No document has it.
func isNewestDraft(schema string) bool {
	switch strings.TrimSuffix(schema, "#") {
	case "http://json-schema.org/schema", "https://json-schema.org/schema":
		return true
	}
	return false
}

// references are the names of the parts of a schema, and the names that the parts refer to.
type references struct{ ids, to []string }

func (r *references) read(schema any) {
	switch schema := schema.(type) {
	case map[string]any:
		for key, value := range schema {
			r.note(key, value)
			r.read(value)
		}
	case []any:
		for _, item := range schema {
			r.read(item)
		}
	}
}

func (r *references) note(key string, value any) {
	text, ok := value.(string)
	if !ok {
		return
	}
	switch key {
	case "$id", "id":
		r.ids = append(r.ids, strings.TrimSuffix(text, "#"))
	case "$ref", "$dynamicRef", "$recursiveRef":
		r.to = append(r.to, text)
	case "$schema":
		if !isNewestDraft(text) {
			r.to = append(r.to, text)
		}
	}
}
