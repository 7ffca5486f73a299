package manifest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// NotStringError reports a value that is no text, where only texts are possible.
type NotStringError struct {
	// Line is the line of the value in its file, from 1, and 0 if it is not known.
	Line int
	// Object is the kind and the name.
	Object string
	// Field is a map of texts such as metadata.labels, and Key the key in it.
	Field, Key string
}

func (e *NotStringError) Error() string {
	text := fmt.Sprintf("%s: %s of %s is not text; put its value in quotes", e.Object, e.Key, e.Field)
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %s", e.Line, text)
	}
	return text
}

// textFields are the fields of an object with texts by name.
func textFields(object *unstructured.Unstructured) []string {
	fields := []string{"metadata.labels", "metadata.annotations"}
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

// nameOf is the kind and the name of an object.
func nameOf(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}

func checkTexts(object *unstructured.Unstructured) error {
	for _, field := range textFields(object) {
		value, _, err := unstructured.NestedFieldNoCopy(object.Object, strings.Split(field, ".")...)
		texts, ok := value.(map[string]any)
		if err != nil || !ok {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			switch texts[key].(type) {
			case string, nil: // API servers take null for "".
				continue
			case []any: // They take a list of numbers for bytes.
				if field == "data" || field == "binaryData" {
					continue
				}
			}
			return &NotStringError{Object: nameOf(object), Field: field, Key: key}
		}
	}
	return nil
}

// lineOf finds the value that an error reports in the file that it was read from, 0 if it is
// not found.
func lineOf(file []byte, wrong *NotStringError) int {
	documents := yaml.NewDecoder(bytes.NewReader(file))
	for {
		var document yaml.Node
		if documents.Decode(&document) != nil {
			return 0
		}
		if len(document.Content) == 0 {
			continue
		}
		if line := lineIn(document.Content[0], wrong); line > 0 {
			return line
		}
	}
}

// lineIn looks at one object, and at those of a list.
func lineIn(object *yaml.Node, wrong *NotStringError) int {
	kind, name := nodeAt(object, "kind"), nodeAt(object, "metadata", "name")
	if kind != nil && name != nil && kind.Value+" "+name.Value == wrong.Object {
		value := nodeAt(object, append(strings.Split(wrong.Field, "."), wrong.Key)...)
		if value != nil && value.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 {
			return value.Line
		}
	}
	items := nodeAt(object, "items")
	if items == nil || items.Kind != yaml.SequenceNode {
		return 0
	}
	for _, item := range items.Content {
		if line := lineIn(item, wrong); line > 0 {
			return line
		}
	}
	return 0
}

// nodeAt is what keys lead to, or nil.
func nodeAt(node *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		if node.Kind != yaml.MappingNode {
			return nil
		}
		at := -1
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				at = i + 1
			}
		}
		if at < 0 {
			return nil
		}
		node = node.Content[at]
	}
	return node
}
