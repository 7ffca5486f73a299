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

// checker holds a YAML tree against the Go types it will be decoded into.
type checker struct {
	strict bool
	wrong  []Problem
	notes  []Problem
	// seen keeps anchors that are used often, or within themselves, from being
	// checked more than once.
	seen          map[visit]bool
	fields        map[reflect.Type]map[string]reflect.Type
	withoutEffect map[string]string
}

type visit struct {
	node *yaml.Node
	typ  reflect.Type
}

func newChecker(strict bool) *checker {
	return &checker{
		strict:        strict,
		seen:          make(map[visit]bool),
		fields:        make(map[reflect.Type]map[string]reflect.Type),
		withoutEffect: withoutEffect(),
	}
}

func (c *checker) definition(root *yaml.Node) {
	c.check(root, reflect.TypeFor[Definition](), "")
}

// maxProblems is how many are told of one file; nobody reads more.
const maxProblems = 100

func (c *checker) fail(node *yaml.Node, kind Kind, format string, args ...any) {
	c.wrong = appendProblem(c.wrong, node, kind, format, args...)
}

func (c *checker) note(node *yaml.Node, kind Kind, format string, args ...any) {
	c.notes = appendProblem(c.notes, node, kind, format, args...)
}

func appendProblem(problems []Problem, node *yaml.Node, kind Kind, format string, args ...any) []Problem {
	switch len(problems) {
	case maxProblems + 1:
		return problems
	case maxProblems:
		return append(problems, at(node, kind, "there is more like this; only %d lines are told of one file", maxProblems))
	}
	return append(problems, at(node, kind, format, args...))
}

// mistyped says whether decoding has lost something, so that what was decoded
// is not worth looking at.
func (c *checker) mistyped() bool {
	return slices.ContainsFunc(c.wrong, func(p Problem) bool { return p.Kind == WrongType || p.Kind == DuplicateKey })
}

// check holds node against typ. path is where node stands below the options it
// belongs to, "helm.values" for example, in the root and in a customization alike.
func (c *checker) check(node *yaml.Node, typ reflect.Type, path string) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	node = resolved(node)
	if isNull(node) || c.seen[visit{node, typ}] {
		return
	}
	c.seen[visit{node, typ}] = true

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

// text refuses numbers and booleans where Fleet does: "namespace: n" would be
// "false". Names of entries are what Fleet makes of them.
func (c *checker) text(node *yaml.Node, path string) {
	switch {
	case slices.Contains([]string{"name", "clusterName", "clusterGroup"}, path):
		c.scalar(node, path, "text")
	case node.Kind != yaml.ScalarNode:
		c.scalar(node, path, "text")
	case slices.Contains([]string{"!!bool", "!!int", "!!float"}, tag(node)):
		c.fail(node, WrongType, "%s must be text, and without quotes this is %s", path, describe(node))
	}
}

// item is an element of a list or map, where a number or boolean counts as text,
// as in a label.
func (c *checker) item(node *yaml.Node, typ reflect.Type, path string) {
	if typ.Kind() == reflect.String && !isNull(resolved(node)) {
		c.scalar(resolved(node), path, "text")
		return
	}
	c.check(node, typ, path)
}

// scalar wants one of the tags, or any without.
func (c *checker) scalar(node *yaml.Node, path, want string, tags ...string) {
	if node.Kind != yaml.ScalarNode || (len(tags) > 0 && !slices.Contains(tags, tag(node))) {
		c.fail(node, WrongType, "%s must be %s, not %s", path, want, describe(node))
	}
}

// whole wants a whole number, which may be written as 1e3.
func (c *checker) whole(node *yaml.Node, path string) {
	number, err := strconv.ParseFloat(node.Value, 64)
	if node.Kind == yaml.ScalarNode && tag(node) == "!!float" && err == nil && number == math.Trunc(number) {
		return
	}
	c.scalar(node, path, "a whole number", "!!int")
}

func (c *checker) list(node *yaml.Node, elem reflect.Type, path string) {
	if node.Kind != yaml.SequenceNode {
		c.fail(node, WrongType, "%s must be a list, not %s", path, describe(node))
		return
	}
	if elem == reflect.TypeFor[Customization]() {
		path = ""
	}
	for _, item := range node.Content {
		c.item(item, elem, path)
	}
}

// anyMap is a map whose keys are free.
func (c *checker) anyMap(node *yaml.Node, typ reflect.Type, path string) {
	if node.Kind != yaml.MappingNode {
		c.fail(node, WrongType, "%s must be a map, not %s", path, describe(node))
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

// values are anything; only keys can be wrong in them. What an alias stands for
// is checked where its anchor is.
func (c *checker) values(node *yaml.Node) {
	if node.Kind == yaml.MappingNode {
		c.keys(node, func(_ *yaml.Node, _ string, value *yaml.Node) { c.values(value) })
		return
	}
	for _, item := range node.Content { // Of a list; a scalar has none.
		c.values(item)
	}
}

// keys calls each for every key of a map, "<<" excepted, and refuses a second
// equal one.
func (c *checker) keys(node *yaml.Node, each func(key *yaml.Node, name string, value *yaml.Node)) {
	lines := make(map[string]int)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := resolved(node.Content[i]), node.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			c.fail(node.Content[i], WrongType, "a key must be text, not %s", describe(key))
			continue
		}
		if isMerge(key) {
			continue
		}
		name := keyText(key)
		if line, twice := lines[name]; twice {
			c.fail(node.Content[i], DuplicateKey, "key %q stands a second time; first on line %d", name, line)
			continue
		}
		lines[name] = key.Line
		each(node.Content[i], name, value)
	}
}

// object is a map whose keys are the fields of typ.
func (c *checker) object(node *yaml.Node, typ reflect.Type, path string) {
	if node.Kind != yaml.MappingNode {
		c.fail(node, WrongType, "%s must be a map, not %s", cmp.Or(path, "this"), describe(node))
		return
	}
	c.merged(node, typ, path)
	fields := c.fieldsOf(typ)
	given := make(map[string]bool)
	c.keys(node, func(key *yaml.Node, name string, value *yaml.Node) {
		if hint, ok := c.withoutEffect[join(path, name)]; ok && !isZero(value, 0) {
			c.note(key, Note, "%s has no effect here: %s", name, hint)
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
			c.fail(key, DuplicateKey, "key %q stands a second time, in other case", name)
			return
		}
		given[name] = true
		full := join(path, name)
		c.check(value, field, full)
	})
}

// merged checks what "<<" brings in.
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

// unknown reports a key that is none of fields. It answers the field that Fleet
// would take it for all the same, as Fleet does not look at case.
func (c *checker) unknown(key *yaml.Node, name, path string, fields map[string]reflect.Type) string {
	known := sameButCase(name, fields)
	isField := known != ""
	if !isField && len(c.wrong) <= maxProblems && len(c.notes) <= maxProblems {
		known = nearest(name, fields)
	}
	where, guess := "", ""
	if path != "" {
		where = " in " + path
	}
	if known != "" {
		guess = fmt.Sprintf("; did you mean %q?", known)
	}
	switch {
	case c.strict:
		c.fail(key, UnknownKey, "unknown key %q%s%s", name, where, guess)
	case isField:
		c.note(key, UnknownKey, "key %q is read as %q", name, known)
		return known
	default:
		c.note(key, UnknownKey, "unknown key %q%s is ignored%s", name, where, guess)
	}
	return ""
}

// sameButCase is the field that Fleet takes name for, "" if there is none.
func sameButCase(name string, fields map[string]reflect.Type) string {
	for known := range fields {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return ""
}

// nearest is the field that name was probably meant to be, "" if there is none.
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

// fieldsOf are the types of the fields of a struct by their JSON names, those of
// embedded structs included.
func (c *checker) fieldsOf(typ reflect.Type) map[string]reflect.Type {
	if known, ok := c.fields[typ]; ok {
		return known
	}
	fields := make(map[string]reflect.Type)
	for _, field := range reflect.VisibleFields(typ) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			fields[name] = field.Type
		}
	}
	c.fields[typ] = fields
	return fields
}
