package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// NotStringError reports a value that is not text in a field that allows only text.
type NotStringError struct {
	// Line is the line of the value in its file, from 1, and 0 if it is not known.
	Line int
	// Object is the kind and the name.
	Object string
	// Field is a map of texts such as metadata.labels, and Key the key in it.
	Field, Key string
}

func (e *NotStringError) Error() string {
	return onLine(e.Line, fmt.Sprintf("%s: %s of %s is not text; put its value in quotes", e.Object, e.Key, e.Field))
}

// onLine returns the text of an error with the line in its file, if that is known.
func onLine(line int, text string) string {
	if line == 0 {
		return text
	}
	return fmt.Sprintf("line %d: %s", line, text)
}

// textFields returns the fields of an object that are maps of texts.
func textFields(object *unstructured.Unstructured) []string {
	fields := metadataTexts()
	switch group, _, _ := strings.Cut(object.GetAPIVersion(), "/"); {
	case group == "apps", group == "batch":
		return append(fields, "spec.template.metadata.labels", "spec.template.metadata.annotations")
	case group == "v1" && object.GetKind() == "ConfigMap":
		return append(fields, "data", "binaryData")
	case group == "v1" && object.GetKind() == "Secret":
		return append(fields, "data", "stringData")
	}
	return fields
}

// nameOf returns the kind and the name of an object.
func nameOf(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}

// metadataTexts are the maps of texts that Helm reads.
func metadataTexts() []string { return []string{"metadata.labels", "metadata.annotations"} }

// checkTexts returns a *NotStringError if one of the fields contains what is no text.
func checkTexts(object *unstructured.Unstructured, fields []string) error {
	for _, field := range fields {
		value, _, err := unstructured.NestedFieldNoCopy(object.Object, strings.Split(field, ".")...)
		texts, ok := value.(map[string]any)
		if err != nil || !ok {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			switch texts[key].(type) {
			case string, nil: // API servers treat null as "".
				continue
			case []any: // They treat a list of numbers as bytes.
				if field == "data" || field == "binaryData" {
					continue
				}
			}
			return &NotStringError{Object: nameOf(object), Field: field, Key: key}
		}
	}
	return nil
}
