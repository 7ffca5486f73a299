package fleetyaml

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
	"go.yaml.in/yaml/v3"
)

// checker compares a YAML tree with the Go types it will be decoded into.
type checker struct {
	strict bool
	report *report
	fields *fieldTypes
	// seen contains checked nodes. So an anchor that is used often, or within itself, is checked
	// once.
	seen          map[visit]bool
	withoutEffect map[string]string
	// inEntry is true inside of targetCustomizations or overrideTargets.
	inEntry bool
}

type visit struct {
	node    *yaml.Node
	typ     reflect.Type
	inEntry bool
}

func newChecker(strict bool, report *report, fields *fieldTypes) *checker {
	return &checker{
		strict:        strict,
		report:        report,
		fields:        fields,
		seen:          make(map[visit]bool),
		withoutEffect: withoutEffect(),
	}
}

func (c *checker) definition(root *yaml.Node) {
	c.check(root, reflect.TypeFor[Definition](), "")
}

// check compares node with typ. path is the path of node below its options, "helm.values" for
// example. It is the same in the root and in a customization.
func (c *checker) check(node *yaml.Node, typ reflect.Type, path string) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	node = resolved(node)
	if isNull(node) || c.seen[visit{node, typ, c.inEntry}] {
		return
	}
	c.seen[visit{node, typ, c.inEntry}] = true

	switch {
	case typ == reflect.TypeFor[Count]():
		c.scalar(node, path, "a number or a percentage", "!!int", "!!str")
	case typ.Kind() == reflect.Struct:
		c.object(node, typ, path)
	case typ.Kind() == reflect.Map:
		c.anyMap(node, typ, path)
	case typ.Kind() == reflect.Slice:
		c.list(node, typ.Elem(), path)
	case typ.Kind() == reflect.Bool:
		c.scalar(node, path, "true or false", "!!bool")
	case typ.Kind() == reflect.Int, typ.Kind() == reflect.Int64:
		c.whole(node, path)
	default:
		c.text(node, path)
	}
}

// text refuses numbers and booleans where Fleet does: "namespace: n" would be "false". For names of
// entries, it accepts any scalar, as Fleet does.
func (c *checker) text(node *yaml.Node, path string) {
	switch {
	case slices.Contains([]string{"name", "clusterName", "clusterGroup"}, path):
		c.scalar(node, path, "text")
	case node.Kind != yaml.ScalarNode:
		c.scalar(node, path, "text")
	case slices.Contains([]string{"!!bool", "!!int", "!!float"}, tag(node)):
		c.report.fail(node, WrongType, "%s must be text, and without quotes this is %s", option(path), describe(node))
	}
}

// item checks an element of a list or map.
func (c *checker) item(node *yaml.Node, typ reflect.Type, path string) {
	switch {
	case typ.Kind() != reflect.String:
		c.check(node, typ, path)
	case isNull(resolved(node)):
	case c.takesNumbers(path):
		c.scalar(resolved(node), path, "text")
	default:
		c.text(resolved(node), path)
	}
}

// takesNumbers reports whether Fleet accepts a number or boolean as text in a list or map. It does
// so in the selectors, labels and annotations of an entry of targetCustomizations or
// overrideTargets. Elsewhere, Fleet reports an error, because sigs.k8s.io/yaml does not see the
// types of embedded structs (pkg/apis/fleet.cattle.io/v1alpha1/fleetyaml.go).
func (c *checker) takesNumbers(path string) bool {
	fields := []string{"clusterSelector.", "clusterGroupSelector.", "namespaceLabels.", "namespaceAnnotations."}
	return c.inEntry && slices.ContainsFunc(fields, func(field string) bool {
		return strings.HasPrefix(strings.TrimPrefix(path, "overrideTargets."), field)
	})
}

// scalar requires a scalar with one of the tags, or with any tag if no tags are given.
func (c *checker) scalar(node *yaml.Node, path, want string, tags ...string) {
	if node.Kind != yaml.ScalarNode || (len(tags) > 0 && !slices.Contains(tags, tag(node))) {
		c.report.fail(node, WrongType, "%s must be %s, not %s", option(path), want, describe(node))
	}
}

// whole requires a whole number, which may be written as 1e3.
func (c *checker) whole(node *yaml.Node, path string) {
	number, err := strconv.ParseFloat(node.Value, 64)
	if node.Kind == yaml.ScalarNode && tag(node) == "!!float" && err == nil && number == math.Trunc(number) {
		return
	}
	c.scalar(node, path, "a whole number", "!!int")
}

func (c *checker) list(node *yaml.Node, elem reflect.Type, path string) {
	if node.Kind != yaml.SequenceNode {
		c.report.fail(node, WrongType, "%s must be a list, not %s", option(path), describe(node))
		return
	}
	if elem == reflect.TypeFor[Customization]() {
		path = ""
	}
	for _, item := range node.Content {
		c.item(item, elem, path)
	}
}

// anyMap checks a map whose keys are free.
func (c *checker) anyMap(node *yaml.Node, typ reflect.Type, path string) {
	if node.Kind != yaml.MappingNode {
		c.report.fail(node, WrongType, "%s must be a map, not %s", option(path), describe(node))
		return
	}
	if typ.Elem().Kind() == reflect.Interface {
		c.values(node)
		return
	}
	c.keys(node, func(_ *yaml.Node, name string, value *yaml.Node) {
		c.item(value, typ.Elem(), join(path, name))
	})
}

// values checks values of any type; only their keys can be wrong. The content of an alias is
// checked at its anchor.
func (c *checker) values(node *yaml.Node) {
	if node.Kind == yaml.MappingNode {
		c.keys(node, func(_ *yaml.Node, _ string, value *yaml.Node) { c.values(value) })
		return
	}
	for _, item := range node.Content { // Of a list; a scalar has none.
		c.values(item)
	}
}

// keys calls each for every key of a map, "<<" excepted, and refuses a duplicate key.
func (c *checker) keys(node *yaml.Node, each func(key *yaml.Node, name string, value *yaml.Node)) {
	lines := make(map[string]int)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := resolved(node.Content[i]), node.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			c.report.fail(node.Content[i], WrongType, "a key must be text, not %s", describe(key))
			continue
		}
		if isMerge(key) {
			continue
		}
		name := keyText(key)
		if line, twice := lines[name]; twice {
			c.report.fail(node.Content[i], DuplicateKey, "key %q is defined twice; first on line %d", name, line)
			continue
		}
		lines[name] = key.Line
		each(node.Content[i], name, value)
	}
}

// object checks a map whose keys are the fields of typ.
func (c *checker) object(node *yaml.Node, typ reflect.Type, path string) {
	if node.Kind != yaml.MappingNode {
		c.report.fail(node, WrongType, "%s must be a map, not %s", option(cmp.Or(path, "this")), describe(node))
		return
	}
	c.merged(node, typ, path)
	fields := c.fields.of(typ)
	given := make(map[string]bool)
	c.keys(node, func(key *yaml.Node, name string, value *yaml.Node) {
		if hint, ok := c.withoutEffect[join(path, name)]; ok && !isZero(value, 0) {
			c.report.note(key, Note, "%s has no effect here: %s", option(name), hint)
		}
		field, ok := fields[name]
		if !ok && c.withoutEffect[join(path, name)] != "" {
			return
		}
		if !ok {
			known := c.unknown(key, name, path, fields)
			if field, ok = fields[known]; !ok {
				return
			}
			name = known
		}
		if given[name] {
			c.report.fail(key, DuplicateKey, "key %q is defined twice, with different case", name)
			return
		}
		given[name] = true
		full := join(path, name)
		if full == "targetCustomizations" || full == "overrideTargets" {
			c.inEntry = true
			defer func() { c.inEntry = false }()
		}
		c.check(value, field, full)
	})
}

// merged checks what "<<" merges in.
func (c *checker) merged(node *yaml.Node, typ reflect.Type, path string) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if !isMerge(node.Content[i]) {
			continue
		}
		value := resolved(node.Content[i+1])
		if value.Kind != yaml.SequenceNode {
			c.check(value, typ, path)
			continue
		}
		for _, item := range value.Content {
			c.check(item, typ, path)
		}
	}
}

// unknown reports a key that is not in fields. It returns the field that Fleet uses for the key
// anyway, because Fleet ignores case.
func (c *checker) unknown(key *yaml.Node, name, path string, fields map[string]reflect.Type) string {
	known := sameButCase(name, fields)
	isField := known != ""
	if !isField && !c.report.isFull() {
		known = nearest(name, fields)
	}
	where, guess := "", ""
	if path != "" && c.report.spelling == AsFleetYAML {
		where = " in " + path
	}
	if known != "" {
		guess = fmt.Sprintf("; did you mean %q?", c.report.spelling.Name(known))
	}
	switch {
	case c.strict:
		c.report.fail(key, UnknownKey, "unknown key %q%s%s", option(name), where, guess)
	case isField:
		c.report.note(key, UnknownKey, "key %q is read as %q", name, known)
		return known
	default:
		c.report.note(key, UnknownKey, "unknown key %q%s is ignored%s", name, where, guess)
	}
	return ""
}

// sameButCase returns the field that Fleet uses for name, "" if there is none.
func sameButCase(name string, fields map[string]reflect.Type) string {
	for known := range fields {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return ""
}

// nearest returns the field that name was probably meant to be, "" if there is none.
func nearest(name string, fields map[string]reflect.Type) (field string) {
	const longest = 64
	if len(name) > longest {
		return ""
	}
	distance := max(1, len(name)/4) + 1
	for _, known := range slices.Sorted(maps.Keys(fields)) {
		if d := levenshtein.Distance(known, name, nil); d < distance {
			field, distance = known, d
		}
	}
	return field
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
