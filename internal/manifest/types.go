package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	kubejson "sigs.k8s.io/json"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// WrongTypeError reports a value that no API server can read into the kind of its object. An
// example is a number as the value of an environment variable.
type WrongTypeError struct {
	// Line is the line of the value in its file, from 1, and 0 if it is not known.
	Line int
	// Object is the kind and the name.
	Object string
	// Field is a path such as spec.template.spec.containers.env.value, without list indices. It is
	// "" if Reason alone describes the error.
	Field string
	// Reason describes what is wrong with the value.
	Reason string

	// kind is the kind of the value in JSON, such as "number".
	kind string
}

func (e *WrongTypeError) Error() string {
	text := e.Object + ": " + e.Reason
	if e.Field != "" {
		text = fmt.Sprintf("%s: %s %s", e.Object, e.Field, e.Reason)
	}
	return onLine(e.Line, text)
}

// Locate sets the line of the value from the file of the object.
func (e *WrongTypeError) Locate(file []byte) {
	if e.Field == "" {
		return
	}
	e.Line = lineOf(file, e.Object, strings.Split(e.Field, "."), func(value *yaml.Node) bool { return kindOf(value) == e.kind })
}

// CheckTypes reads an object into the type that API servers have for its kind, if the kind is part
// of Kubernetes itself. It returns the fields that the type lacks. They are no error, because the API
// server can be newer. The error is a *WrongTypeError.
func CheckTypes(object *unstructured.Unstructured) ([]UnknownField, error) {
	typed, err := scheme.Scheme.New(object.GroupVersionKind())
	if err != nil || isTest(object) {
		return nil, nil //nolint:nilerr // Not a kind of Kubernetes itself.
	}
	content, err := object.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", nameOf(object), err)
	}
	unknown, err := kubejson.UnmarshalStrict(content, typed, kubejson.DisallowUnknownFields)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		kind := jsonKind(wrong.Value)
		reason := fmt.Sprintf("is a %s and must be a %s", kind, typeName(wrong.Type))
		return nil, &WrongTypeError{Object: nameOf(object), Field: wrong.Field, Reason: reason, kind: kind}
	}
	if err != nil {
		return nil, &WrongTypeError{Object: nameOf(object), Reason: err.Error()}
	}
	return unknownFields(object, unknown), nil
}

// UnknownField is a field that the type of a built-in kind lacks.
type UnknownField struct {
	// Object is the kind and the name.
	Object string
	// Field is a path such as spec.template.spec.containers[0].imag.
	Field string
}

func unknownFields(object *unstructured.Unstructured, errs []error) []UnknownField {
	var found []UnknownField
	for _, err := range errs {
		if field, ok := errors.AsType[kubejson.FieldError](err); ok {
			found = append(found, UnknownField{Object: nameOf(object), Field: field.FieldPath()})
		}
	}
	return found
}

// Line returns the line of the field in the file of its object, 0 if it is not found.
func (u UnknownField) Line(file []byte) int {
	path := strings.Split(u.Field, ".")
	for i, key := range path {
		path[i], _, _ = strings.Cut(key, "[")
	}
	return lineOf(file, u.Object, path, func(*yaml.Node) bool { return true })
}

// isTest reports whether an object is a hook only of helm test, which is not deployed.
func isTest(object *unstructured.Unstructured) bool {
	events, isHook := Annotations(object)[wellknown.Hook]
	return isHook && !slices.ContainsFunc(strings.Split(events, ","), func(event string) bool {
		return !strings.HasPrefix(strings.TrimSpace(event), "test")
	})
}

// jsonKind returns the kind of a JSON value from its description in encoding/json, such as "number
// 1.5".
func jsonKind(value string) string {
	kind, _, _ := strings.Cut(value, " ")
	switch kind {
	case "bool":
		return "boolean"
	case "object":
		return "map"
	case "array":
		return "list"
	}
	return kind
}

// typeName returns the JSON kind of a Go type.
func typeName(of reflect.Type) string {
	switch of.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string; put its value in quotes"
	case reflect.Slice, reflect.Array:
		return "list"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("whole number of %d bits", of.Bits())
	case reflect.Float32, reflect.Float64:
		return "number"
	default:
		return "map"
	}
}

// kindOf returns the JSON kind of a YAML value.
func kindOf(value *yaml.Node) string {
	switch value.ShortTag() {
	case "!!map":
		return "map"
	case "!!seq":
		return "list"
	case "!!int", "!!float":
		return "number"
	case "!!bool":
		return "boolean"
	}
	if isPlain(value) && slices.Contains([]string{"yes", "no", "on", "off", "y", "n"}, strings.ToLower(value.Value)) {
		return "boolean" // In YAML 1.1, which Helm reads.
	}
	return "string"
}
