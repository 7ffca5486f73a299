package manifest

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// Union returns the objects of several revisions of a release, newest first. An object that several
// revisions have, has the fields of all of them, with the newest values. So a merge from it removes
// all that any of the revisions may have written. Objects are not changed. namespace is the namespace
// of the release.
func Union(namespace string, revisions ...[]*unstructured.Unstructured) []*unstructured.Unstructured {
	var (
		union  []*unstructured.Unstructured
		places = map[string]int{}
	)
	for _, objects := range revisions {
		for _, object := range objects {
			key := Identify(object, namespace).Key()
			at, known := places[key]
			if !known {
				places[key], union = len(union), append(union, object)
				continue
			}
			union[at] = withFieldsOf(union[at], object)
		}
	}
	return union
}

// withFieldsOf returns a newer object with the fields that only an older one has. Fields of another
// version of the kind have another meaning, so they are left out.
func withFieldsOf(newer, older *unstructured.Unstructured) *unstructured.Unstructured {
	if newer == older || newer.GetAPIVersion() != older.GetAPIVersion() {
		return newer
	}
	schema := mergeSchema{}
	if typed, err := scheme.Scheme.New(newer.GroupVersionKind()); err == nil {
		schema = schemaOf(typed)
	}
	merged, _ := united(newer.Object, older.Object, schema).(map[string]any)
	return &unstructured.Unstructured{Object: merged}
}

// united merges values of any depth without changing them.
func united(newer, older any, schema mergeSchema) any {
	switch newer := newer.(type) {
	case map[string]any:
		fields, ok := older.(map[string]any)
		if !ok {
			return newer
		}
		merged := maps.Clone(newer)
		for key, value := range fields {
			if present, has := newer[key]; has && present != nil {
				merged[key] = united(present, value, schema.field(key))
			} else {
				merged[key] = value
			}
		}
		return merged
	case []any:
		if items, ok := older.([]any); ok && schema.merges {
			return unitedLists(newer, items, schema)
		}
	}
	return newer
}

// unitedLists merges lists of which an API server merges the items.
func unitedLists(newer, older []any, schema mergeSchema) []any {
	merged, places := slices.Clone(newer), map[string]int{}
	for i, item := range newer {
		places[schema.idOf(item)] = i
	}
	for _, item := range older {
		id := schema.idOf(item)
		at, known := places[id]
		if !known {
			places[id], merged = len(merged), append(merged, item)
			continue
		}
		merged[at] = united(merged[at], item, schema.items())
	}
	return merged
}

// mergeSchema describes how an API server merges a value. The zero value is for an unknown type: maps
// are merged, and lists are replaced.
type mergeSchema struct {
	// merges is true for a list whose items are merged. key is the field that identifies an item, ""
	// if items have no fields.
	merges bool
	key    string

	fields strategicpatch.LookupPatchMeta
}

// schemaOf returns the schema of a Go type of Kubernetes.
func schemaOf(typed any) mergeSchema {
	fields, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return mergeSchema{}
	}
	return mergeSchema{fields: fields}
}

// field returns the schema of a field.
func (m mergeSchema) field(name string) mergeSchema {
	if m.fields == nil {
		return mergeSchema{}
	}
	if items, meta, err := m.fields.LookupPatchMetadataForSlice(name); err == nil {
		return mergeSchema{merges: slices.Contains(meta.GetPatchStrategies(), "merge"), key: meta.GetPatchMergeKey(), fields: items}
	}
	fields, _, err := m.fields.LookupPatchMetadataForStruct(name)
	if err != nil {
		return mergeSchema{}
	}
	return mergeSchema{fields: fields}
}

// items is the schema of the items of a list.
func (m mergeSchema) items() mergeSchema { return mergeSchema{fields: m.fields} }

// idOf identifies an item of a list.
func (m mergeSchema) idOf(item any) string {
	if fields, ok := item.(map[string]any); ok && m.key != "" {
		item = fields[m.key]
	}
	return fmt.Sprintf("%T %[1]v", item)
}
