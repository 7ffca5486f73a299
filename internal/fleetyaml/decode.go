package fleetyaml

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	sigsyaml "sigs.k8s.io/yaml"
)

// decode reads data as Fleet does, by way of JSON.
func (c *checker) decode(data []byte) (Definition, error) {
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
	if content, err = json.Marshal(c.fit(raw, reflect.TypeFor[Definition]())); err != nil {
		return def, err
	}
	return def, json.Unmarshal(content, &def)
}

// fit makes value fit for decoding into typ: numbers and booleans that stand for
// text become text, keys that are no field are dropped, and those that
// are one but for their case get their right name.
func (c *checker) fit(value any, typ reflect.Type) any {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch value := value.(type) {
	case []any:
		if typ.Kind() == reflect.Slice {
			for i := range value {
				value[i] = c.fitItem(value[i], typ.Elem())
			}
		}
	case map[string]any:
		switch typ.Kind() { //nolint:exhaustive // Other types hold no keys.
		case reflect.Struct:
			return c.fitFields(value, c.fieldsOf(typ))
		case reflect.Map:
			for key := range value {
				value[key] = c.fitItem(value[key], typ.Elem())
			}
		}
	}
	return value
}

func (c *checker) fitFields(value map[string]any, fields map[string]reflect.Type) map[string]any {
	fitting := make(map[string]any, len(value))
	for key, item := range value {
		for name, field := range fields {
			if strings.EqualFold(key, name) {
				fitting[name] = c.fitItem(item, field)
			}
		}
	}
	return fitting
}

func (c *checker) fitItem(item any, typ reflect.Type) any {
	if typ.Kind() != reflect.String {
		return c.fit(item, typ)
	}
	switch item := item.(type) {
	case json.Number:
		return item.String()
	case bool:
		return strconv.FormatBool(item)
	}
	return item
}
