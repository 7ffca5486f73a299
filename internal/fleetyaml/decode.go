package fleetyaml

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	sigsyaml "sigs.k8s.io/yaml"
)

// fieldTypes finds the fields that a definition can have: encoding/json does not report them.
type fieldTypes struct {
	// inHCL allows fields that a fleet.yaml cannot have.
	inHCL bool
	known map[reflect.Type]map[string]reflect.Type
}

func newFieldTypes(inHCL bool) *fieldTypes {
	return &fieldTypes{inHCL: inHCL, known: make(map[reflect.Type]map[string]reflect.Type)}
}

// of returns the types of the fields of a struct by their JSON names, with the fields of embedded
// structs.
func (t *fieldTypes) of(typ reflect.Type) map[string]reflect.Type {
	if known, ok := t.known[typ]; ok {
		return known
	}
	fields := make(map[string]reflect.Type)
	for _, field := range reflect.VisibleFields(typ) {
		if field.Tag.Get("hcl") == "only" && !t.inHCL {
			continue
		}
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			fields[name] = field.Type
		}
	}
	t.known[typ] = fields
	return fields
}

// decode reads data as Fleet does, by way of JSON.
func (t *fieldTypes) decode(data []byte) (Definition, error) {
	var def Definition
	content, err := sigsyaml.YAMLToJSON(data)
	if err != nil {
		return def, err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var raw any
	if err := decoder.Decode(&raw); err != nil {
		return def, err
	}
	if content, err = json.Marshal(t.fit(raw, reflect.TypeFor[Definition]())); err != nil {
		return def, err
	}
	return def, json.Unmarshal(content, &def)
}

// fit prepares value for decoding into typ. Numbers and booleans in place of text become text. Keys
// that are no field are dropped. Keys that differ from a field only in case get the name of the
// field.
func (t *fieldTypes) fit(value any, typ reflect.Type) any {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch value := value.(type) {
	case []any:
		if typ.Kind() == reflect.Slice {
			for i := range value {
				value[i] = t.fitItem(value[i], typ.Elem())
			}
		}
	case map[string]any:
		switch typ.Kind() { //nolint:exhaustive // Other types have no keys.
		case reflect.Struct:
			return t.fitFields(value, t.of(typ))
		case reflect.Map:
			for key := range value {
				value[key] = t.fitItem(value[key], typ.Elem())
			}
		}
	}
	return value
}

func (t *fieldTypes) fitFields(value map[string]any, fields map[string]reflect.Type) map[string]any {
	fitting := make(map[string]any, len(value))
	for key, item := range value {
		for name, field := range fields {
			if strings.EqualFold(key, name) {
				fitting[name] = t.fitItem(item, field)
			}
		}
	}
	return fitting
}

func (t *fieldTypes) fitItem(item any, typ reflect.Type) any {
	if typ.Kind() != reflect.String {
		return t.fit(item, typ)
	}
	switch item := item.(type) {
	case json.Number:
		return item.String()
	case bool:
		return strconv.FormatBool(item)
	}
	return item
}
