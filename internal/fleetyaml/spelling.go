package fleetyaml

import (
	"reflect"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Spelling is how texts name options for the user who has written them.
type Spelling int

const (
	// AsFleetYAML names the keys of a fleet.yaml, such as helm.releaseName.
	AsFleetYAML Spelling = iota
	// AsHCL names attributes, such as helm.release_name.
	AsHCL
)

// Name returns the name of an option. Its path has the keys of a fleet.yaml.
func (s Spelling) Name(path string) string {
	if s == AsFleetYAML {
		return path
	}
	keys := strings.Split(path, ".")
	for i, key := range keys {
		keys[i] = AttributeName(key)
	}
	return strings.Join(keys, ".")
}

// AttributeName turns "releaseName" into "release_name". It is the reverse of FieldName.
func AttributeName(field string) string {
	switch field {
	case "deleteCRDResources":
		return "delete_crd_resources"
	case "disableDNS":
		return "disable_dns"
	case "dependsOn":
		return "depends_on_bundles"
	}
	var name strings.Builder
	for _, letter := range field {
		if unicode.IsUpper(letter) {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToLower(letter))
	}
	return name.String()
}

// option is the path of an option in an argument of a message.
type option string

// arguments returns the arguments of a message with the names of options in this spelling.
func (s Spelling) arguments(args []any) []any {
	written := make([]any, len(args))
	for i, arg := range args {
		written[i] = arg
		if named, ok := arg.(option); ok {
			written[i] = s.Name(string(named))
		}
	}
	return written
}

// MapKey is a key of the user in the path of an attribute.
type MapKey string

// attributePath returns the path of the attribute that a node of a definition is the value of: names of
// attributes, indexes of lists, and MapKeys. It ends before values of any type. It is nil if the node
// is not part of the definition.
func (t *fieldTypes) attributePath(root, node *yaml.Node) []any {
	path, _ := t.find(root, node, reflect.TypeFor[Definition]())
	return path
}

// find returns the path from one node to another, and whether there is one.
func (t *fieldTypes) find(from, to *yaml.Node, typ reflect.Type) (path []any, found bool) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if from == to {
		return nil, true
	}
	switch from.Kind { //nolint:exhaustive // Other nodes have nothing below them.
	case yaml.SequenceNode:
		if typ.Kind() != reflect.Slice {
			break
		}
		for i, item := range from.Content {
			if below, ok := t.find(item, to, typ.Elem()); ok {
				return append([]any{i}, below...), true
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(from.Content); i += 2 {
			step, of := t.step(typ, from.Content[i].Value)
			below, ok := []any(nil), from.Content[i] == to
			if !ok && of != nil {
				below, ok = t.find(from.Content[i+1], to, of)
			}
			if ok && step == nil {
				return nil, true
			}
			if ok {
				return append([]any{step}, below...), true
			}
		}
	}
	return nil, false
}

// step returns the step of a path to a field, and the type of the field. Both are nil below a value of
// any type.
func (t *fieldTypes) step(typ reflect.Type, key string) (step any, of reflect.Type) {
	switch typ.Kind() { //nolint:exhaustive // Other types have no keys.
	case reflect.Struct:
		if field, ok := t.of(typ)[key]; ok {
			return AttributeName(key), field
		}
	case reflect.Map:
		if typ.Elem().Kind() != reflect.Interface {
			return MapKey(key), typ.Elem()
		}
	}
	return nil, nil
}
