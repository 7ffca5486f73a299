package kube

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// differences returns the fields of wanted that live lacks or has with another value. A field that
// only live has is not a difference: the server or another client has set it. Lists are compared as
// an apply merges them.
func differences(wanted, live *unstructured.Unstructured) []release.Difference {
	c := comparison{secret: isSecret(wanted)}
	wantedContent, liveContent := contentOf(wanted), contentOf(live)
	typed, schema := typedForm(wantedContent)
	for _, key := range sortedKeys(wantedContent) {
		field := values{wanted: wantedContent[key], live: liveContent[key], typed: typed.field(key)}
		c.compare(path("").field(key), field, fieldSchema(schema, key))
	}
	return c.found
}

// comparison collects what differs in one object.
type comparison struct {
	secret bool
	found  []release.Difference
}

// values are the value of one field on all sides.
type values struct {
	wanted, live any
	// typed is the wanted value as the server would write it, such as "1" for "1000m".
	typed typedValue
}

// typedValue is a value in the notation of its Go type. known is true if the type is known, and
// exists is true if the type has the field.
type typedValue struct {
	value         any
	known, exists bool
}

func (f typedValue) field(key string) typedValue {
	fields, ok := f.value.(map[string]any)
	if !f.known || !ok {
		return typedValue{}
	}
	value, there := fields[key]
	return typedValue{value: value, known: true, exists: there}
}

func (f typedValue) item(i, of int) typedValue {
	items, ok := f.value.([]any)
	if !f.known || !ok || len(items) != of {
		return typedValue{}
	}
	return typedValue{value: items[i], known: true, exists: true}
}

func (c *comparison) add(at path, live any) {
	difference := release.Difference{Path: string(at), Fingerprint: "-"}
	if !c.secret {
		// The content is from an API server, so it can be written as JSON.
		content, _ := json.Marshal(live)
		difference.Fingerprint = release.ShortHash(content)
	}
	c.found = append(c.found, difference)
}

func (c *comparison) compare(at path, v values, schema strategicpatch.LookupPatchMeta) {
	if v.live == nil && v.isDropped() {
		return
	}
	switch wanted := v.wanted.(type) {
	case nil:
	case map[string]any:
		live, ok := v.live.(map[string]any)
		if !ok {
			c.add(at, v.live)
			return
		}
		for _, key := range sortedKeys(wanted) {
			c.compare(at.field(key), values{wanted: wanted[key], live: live[key], typed: v.typed.field(key)}, fieldSchema(schema, key))
		}
	case []any:
		live, ok := v.live.([]any)
		if !ok {
			c.add(at, v.live)
			return
		}
		c.compareLists(at, wanted, live, v.typed, schema)
	default:
		if !isEqual(wanted, v.live) && (!v.typed.exists || !isEqual(v.typed.value, v.live)) {
			c.add(at, v.live)
		}
	}
}

// listSchema describes how a list is merged. The zero value is for a list that is replaced as a
// whole.
type listSchema struct {
	strategicpatch.LookupPatchMeta
	key     string
	isMerge bool
}

// isDropped reports whether a server does not store the wanted value, because the value is empty or
// its type has no such field. An empty text in a map, such as in the data of a ConfigMap, is
// stored.
func (v values) isDropped() bool {
	if v.typed.known && v.wanted == "" {
		return !v.typed.exists
	}
	return isEmptyValue(v.wanted) || (v.typed.known && !v.typed.exists)
}

func (c *comparison) compareLists(at path, wanted, live []any, typed typedValue, schema strategicpatch.LookupPatchMeta) {
	list, _ := schema.(listSchema)
	switch {
	case list.isMerge && list.key != "" && allHave(wanted, list.key):
		for i, item := range wanted {
			c.compareMember(at, item, live, typed.item(i, len(wanted)), list)
		}
	case list.isMerge && list.key == "":
		for i, item := range wanted {
			isThere := func(other any) bool { return isEqual(item, other) || isEqual(typed.item(i, len(wanted)).value, other) }
			if !slices.ContainsFunc(live, isThere) {
				c.add(at, live)
				return
			}
		}
	case len(wanted) != len(live):
		c.add(at, live)
	default:
		for i, item := range wanted {
			c.compare(at.item(fmt.Sprint(i)), values{wanted: item, live: live[i], typed: typed.item(i, len(wanted))}, list.LookupPatchMeta)
		}
	}
}

// compareMember compares an item of a list whose items have a key. Several live items can have the
// same key, such as the ports of a Service with two protocols. One live item that is as wanted is
// enough.
func (c *comparison) compareMember(at path, wanted any, live []any, typed typedValue, list listSchema) {
	name := fieldOf(wanted, list.key)
	at = at.item(fmt.Sprint(name))
	var first *comparison
	for _, candidate := range live {
		if !isEqual(fieldOf(candidate, list.key), name) {
			continue
		}
		tried := comparison{secret: c.secret}
		tried.compare(at, values{wanted: wanted, live: candidate, typed: typed}, list.LookupPatchMeta)
		if len(tried.found) == 0 {
			return
		}
		if first == nil {
			first = &tried
		}
	}
	if first == nil {
		c.add(at, nil)
		return
	}
	c.found = append(c.found, first.found...)
}

func allHave(items []any, key string) bool {
	return !slices.ContainsFunc(items, func(item any) bool { return fieldOf(item, key) == nil })
}

func fieldOf(item any, key string) any {
	fields, ok := item.(map[string]any)
	if !ok {
		return nil
	}
	return fields[key]
}

// fieldSchema returns how a field is merged, nil if that is unknown.
func fieldSchema(schema strategicpatch.LookupPatchMeta, key string) strategicpatch.LookupPatchMeta {
	if list, ok := schema.(listSchema); ok {
		schema = list.LookupPatchMeta
	}
	if schema == nil {
		return nil
	}
	if items, meta, err := schema.LookupPatchMetadataForSlice(key); err == nil {
		return listSchema{LookupPatchMeta: items, key: meta.GetPatchMergeKey(), isMerge: slices.Contains(meta.GetPatchStrategies(), "merge")}
	}
	field, _, err := schema.LookupPatchMetadataForStruct(key)
	if err != nil {
		return nil
	}
	return field
}

// typedForm writes an object in the notation of its Go type. Only built-in kinds have a Go type.
func typedForm(content map[string]any) (typedValue, strategicpatch.LookupPatchMeta) {
	object := &unstructured.Unstructured{Object: content}
	typed, err := scheme.Scheme.New(object.GroupVersionKind())
	if err != nil {
		return typedValue{}, nil
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return typedValue{}, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, typed); err != nil {
		return typedValue{}, schema
	}
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return typedValue{}, schema
	}
	return typedValue{value: written, known: true, exists: true}, schema
}

// isEmptyValue reports whether a value is empty, so that a server need not store it.
func isEmptyValue(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case bool:
		return !value
	case map[string]any:
		for _, field := range value {
			if !isEmptyValue(field) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	}
	number, ok := numberOf(value)
	return ok && number == 0
}

// isEqual compares values of any depth. Numbers of different types can be equal.
func isEqual(a, b any) bool {
	left, ok := numberOf(a)
	if ok {
		right, ok := numberOf(b)
		return ok && left == right
	}
	return sameJSON(a, b)
}

func sameJSON(a, b any) bool {
	left, err := json.Marshal(a)
	if err != nil {
		return false
	}
	right, err := json.Marshal(b)
	return err == nil && string(left) == string(right)
}

func numberOf(value any) (float64, bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case int32:
		return float64(value), true
	case int:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}

// path is the position of a field: "spec.ports[80].targetPort".
type path string

var plainField = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (p path) field(key string) path {
	switch {
	case !plainField.MatchString(key):
		return p.item(key)
	case p == "":
		return path(key)
	}
	return p + "." + path(key)
}

func (p path) item(key string) path { return p + "[" + path(key) + "]" }
