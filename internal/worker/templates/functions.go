package templates

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"
)

// templateFunctions returns the functions that Helm gives to templates
// (helm.sh/helm/v3/pkg/engine/funcs.go). Helm does not export them. include and tpl belong to a
// template and are missing. If a function differs from Helm's, a tracing differs from the rendering
// and is not used.
func templateFunctions() template.FuncMap {
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["toYaml"] = func(value any) string { return text(yaml.Marshal(value)) }
	functions["toYamlPretty"] = toYAMLPretty
	functions["fromYaml"] = func(from string) map[string]any {
		return readMap(func(into any) error { return yaml.Unmarshal([]byte(from), into) })
	}
	functions["fromYamlArray"] = func(from string) []any {
		return readList(func(into any) error { return yaml.Unmarshal([]byte(from), into) })
	}
	functions["toJson"] = func(value any) string { return text(json.Marshal(value)) }
	functions["fromJson"] = func(from string) map[string]any {
		return readMap(func(into any) error { return json.Unmarshal([]byte(from), into) })
	}
	functions["fromJsonArray"] = func(from string) []any {
		return readList(func(into any) error { return json.Unmarshal([]byte(from), into) })
	}
	functions["toToml"] = toTOML
	functions["fromToml"] = func(from string) map[string]any {
		return readMap(func(into any) error { return toml.Unmarshal([]byte(from), into) })
	}
	functions["required"] = required
	functions["fail"] = func(message string) (string, error) { return "", errors.New(message) }
	functions["lookup"] = func(_, _, _, _ string) (map[string]any, error) { return map[string]any{}, nil }
	functions["printf"] = fmt.Sprintf
	return functions
}

// text hides errors, as Helm does.
func text(data []byte, err error) string {
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

func readMap(read func(into any) error) map[string]any {
	made := map[string]any{}
	if err := read(&made); err != nil {
		made["Error"] = err.Error()
	}
	return made
}

func readList(read func(into any) error) []any {
	made := []any{}
	if err := read(&made); err != nil {
		made = []any{err.Error()}
	}
	return made
}

func toYAMLPretty(value any) string {
	const indent = 2
	var data bytes.Buffer
	encoder := goyaml.NewEncoder(&data)
	encoder.SetIndent(indent)
	err := encoder.Encode(value)
	return text(data.Bytes(), err)
}

func toTOML(value any) string {
	var data bytes.Buffer
	if err := toml.NewEncoder(&data).Encode(value); err != nil {
		return err.Error()
	}
	return data.String()
}

func required(message string, value any) (any, error) {
	if value == nil || value == "" {
		return value, errors.New(message)
	}
	return value, nil
}
