package templates

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
)

// removeOutside removes the references to other documents from the schemas of a chart and its subcharts.
// Helm would read the file, or connect to the host. It returns what it has removed, each once.
func removeOutside(c *chart.Chart) []string {
	removed := removeFrom(c)
	for _, child := range c.Dependencies() {
		removed = append(removed, removeOutside(child)...)
	}
	slices.Sort(removed)
	return slices.Compact(removed)
}

func removeFrom(c *chart.Chart) []string {
	var schema any
	reader := json.NewDecoder(bytes.NewReader(c.Schema))
	reader.UseNumber() // They are written again as they are.
	if reader.Decode(&schema) != nil {
		return nil // Helm reports what is wrong with the schema.
	}
	found := references{chart: c.Name()}
	found.readIDs(schema)
	found.remove(schema)
	if len(found.removed) == 0 {
		return nil
	}
	without, err := json.Marshal(schema)
	if err != nil {
		return nil
	}
	c.Schema = without
	return found.removed
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

// references are the names of the parts of a schema, and what was removed from the schema.
type references struct {
	chart   string
	ids     []string
	removed []string
}

func (r *references) readIDs(schema any) {
	switch schema := schema.(type) {
	case map[string]any:
		for key, value := range schema {
			if id, ok := value.(string); ok && (key == "$id" || key == "id") {
				r.ids = append(r.ids, strings.TrimSuffix(id, "#"))
			}
			r.readIDs(value)
		}
	case []any:
		for _, item := range schema {
			r.readIDs(item)
		}
	}
}

// remove removes the references to other documents. What stands beside a reference still counts.
func (r *references) remove(schema any) {
	switch schema := schema.(type) {
	case map[string]any:
		for key, value := range schema {
			if to, ok := value.(string); ok && r.isOutside(key, to) {
				delete(schema, key)
				r.removed = append(r.removed, fmt.Sprintf("values.schema.json of chart %s refers to %s", r.chart, to))
				continue
			}
			r.remove(value)
		}
	case []any:
		for _, item := range schema {
			r.remove(item)
		}
	}
}

func (r *references) isOutside(key, to string) bool {
	switch key {
	case "$ref", "$dynamicRef", "$recursiveRef":
	case "$schema":
		if isNewestDraft(to) {
			return false
		}
	default:
		return false
	}
	document, _, _ := strings.Cut(to, "#")
	return document != "" && !isMetaschema(document) && !slices.Contains(r.ids, document)
}
