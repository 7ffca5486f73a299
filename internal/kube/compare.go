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
	content, is := contentOf(wanted), contentOf(live)
	if contains(is, content) {
		return nil
	}
	return differencesOf(content, is, isSecret(wanted))
}

// differencesOf compares contents by the types of their fields.
func differencesOf(wanted, live map[string]any, secret bool) []release.Difference {
	c := comparison{secret: secret}
	typed, schema := typedForm(wanted)
	c.compare("", values{wanted: wanted, live: live, typed: typed}, schema)
	return c.found
}

// contains reports whether a live value has each field of the wanted one, with the same value. Then
// there is no difference, in whatever way an apply merges lists.
func contains(live, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for key, field := range wanted {
			if !contains(live[key], field) {
				return false
			}
		}
		return true
	case []any:
		live, ok := live.([]any)
		ok = ok && len(live) == len(wanted)
		for i := 0; ok && i < len(wanted); i++ {
			ok = contains(live[i], wanted[i])
		}
		return ok
	case nil:
		return true
	}
	return live == wanted || isEqual(live, wanted)
}

// asLive returns the wanted fields of an object as live has them, in the form of contentOf. A field
// that only live has is left out, and so is one that live lacks. Differences that are accepted stay as
// they are wanted.
func asLive(wanted, live *unstructured.Unstructured, accepts func(release.Difference) bool) map[string]any {
	content := contentOf(wanted.DeepCopy())
	c := comparison{secret: isSecret(live)}
	typed, schema := typedForm(content)
	c.compare("", values{wanted: content, live: contentOf(live.DeepCopy()), typed: typed}, schema)
	for i, makeLive := range c.edits {
		if !accepts(c.found[i]) {
			makeLive()
		}
	}
	withoutAbsent(content)
	return content
}

// absent is in place of an item that live lacks.
type absent struct{}

// withoutAbsent removes absent items from all lists, and returns the value.
func withoutAbsent(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			value[key] = withoutAbsent(field)
		}
	case []any:
		present := slices.DeleteFunc(value, func(item any) bool { return item == absent{} })
		for i, item := range present {
			present[i] = withoutAbsent(item)
		}
		return present
	}
	return value
}

// comparison collects what differs in one object.
type comparison struct {
	secret bool
	found  []release.Difference
	// edits turn the wanted values into the live ones, one for each item of found.
	edits []func()
}

// values are the value of one field on all sides.
type values struct {
	wanted, live any
	// typed is the wanted value as the server would write it, such as "1" for "1000m".
	typed typedValue
	// set replaces the wanted value where it is, nil by nothing.
	set func(live any)
}

// field returns the values of a field of a map.
func (v values) field(wanted, live map[string]any, key string) values {
	return values{wanted: wanted[key], live: live[key], typed: v.typed.field(key), set: func(live any) {
		if live == nil {
			delete(wanted, key)
		} else {
			wanted[key] = live
		}
	}}
}

// item returns the values of an item of a list.
func (v values) item(wanted []any, i int, live any) values {
	return values{wanted: wanted[i], live: live, typed: v.typed.item(i, len(wanted)), set: func(live any) {
		if live == nil {
			live = absent{}
		}
		wanted[i] = live
	}}
}

// typedValue is a value in the notation of its Go type. known is true if the type is known, and
// exists is true if the type has the field.
type typedValue struct {
	value         any
	known, exists bool
}

func (t typedValue) field(key string) typedValue {
	fields, ok := t.value.(map[string]any)
	if !t.known || !ok {
		return typedValue{}
	}
	value, there := fields[key]
	return typedValue{value: value, known: true, exists: there}
}

func (t typedValue) item(i, of int) typedValue {
	items, ok := t.value.([]any)
	if !t.known || !ok || len(items) != of {
		return typedValue{}
	}
	return typedValue{value: items[i], known: true, exists: true}
}

func (c *comparison) add(at path, v values) {
	c.edits = append(c.edits, func() { v.set(v.live) })
	difference := release.Difference{Path: string(at), Fingerprint: "-"}
	if !c.secret {
		// The content is from an API server, so it can be written as JSON.
		content, _ := json.Marshal(v.live)
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
			c.add(at, v)
			return
		}
		for _, key := range sortedKeys(wanted) {
			c.compare(at.field(key), v.field(wanted, live, key), fieldSchema(schema, key))
		}
	case []any:
		live, ok := v.live.([]any)
		if !ok {
			c.add(at, v)
			return
		}
		c.compareLists(at, v, wanted, live, schema)
	default:
		if wanted != v.live && !isEqual(wanted, v.live) && (!v.typed.exists || !isEqual(v.typed.value, v.live)) {
			c.add(at, v)
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

func (c *comparison) compareLists(at path, v values, wanted, live []any, schema strategicpatch.LookupPatchMeta) {
	list, _ := schema.(listSchema)
	switch {
	case list.isMerge && list.key != "" && allHave(wanted, list.key):
		for i := range wanted {
			c.compareMember(at, v.item(wanted, i, nil), live, list)
		}
	case list.isMerge && list.key == "":
		for i, item := range wanted {
			isThere := func(other any) bool {
				return isEqual(item, other) || isEqual(v.typed.item(i, len(wanted)).value, other)
			}
			if !slices.ContainsFunc(live, isThere) {
				c.add(at, v)
				return
			}
		}
	case len(wanted) != len(live):
		c.add(at, v)
	default:
		for i := range wanted {
			c.compare(at.item(fmt.Sprint(i)), v.item(wanted, i, live[i]), list.LookupPatchMeta)
		}
	}
}

// compareMember compares an item of a list whose items have a key. Several live items can have the
// same key, such as the ports of a Service with two protocols. One live item that is as wanted is
// enough.
func (c *comparison) compareMember(at path, v values, live []any, list listSchema) {
	name := fieldOf(v.wanted, list.key)
	at = at.item(fmt.Sprint(name))
	var first *comparison
	for _, candidate := range live {
		if !isEqual(fieldOf(candidate, list.key), name) {
			continue
		}
		tried := comparison{secret: c.secret}
		v.live = candidate
		tried.compare(at, v, list.LookupPatchMeta)
		if len(tried.found) == 0 {
			return
		}
		if first == nil {
			first = &tried
		}
	}
	if first == nil {
		v.live = nil
		c.add(at, v)
		return
	}
	c.found, c.edits = append(c.found, first.found...), append(c.edits, first.edits...)
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
