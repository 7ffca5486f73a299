package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	goyaml "go.yaml.in/yaml/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// Written is a document, and the object that it was written from.
type Written struct {
	Text   string
	Object *unstructured.Unstructured
}

// Write writes each object as one document.
func Write(objects []*unstructured.Unstructured) ([]Written, error) {
	return write(objects, func(object *unstructured.Unstructured) *unstructured.Unstructured { return object })
}

// WriteManifest is Write for the manifest of a release. Helm reads a manifest again when it removes
// the release, and then treats every document with the annotation of a hook as a hook. In a
// manifest, only a member of a list can have that annotation, and stays in a list.
func WriteManifest(objects []*unstructured.Unstructured) ([]Written, error) {
	return write(objects, func(object *unstructured.Unstructured) *unstructured.Unstructured {
		if _, isHook := Annotations(object)[wellknown.Hook]; !isHook {
			return object
		}
		list := map[string]any{"apiVersion": "v1", "kind": "List", itemsField: []any{object.Object}}
		return &unstructured.Unstructured{Object: list}
	})
}

func write(
	objects []*unstructured.Unstructured, documentOf func(*unstructured.Unstructured) *unstructured.Unstructured,
) ([]Written, error) {
	written := make([]Written, len(objects))
	for i, object := range objects {
		text, err := Text(documentOf(object))
		if err != nil {
			return nil, err
		}
		written[i] = Written{Text: text, Object: object}
	}
	return written, nil
}

// Stream returns documents as one YAML stream.
func Stream(documents []Written) string {
	var stream strings.Builder
	for _, document := range documents {
		stream.WriteString("---\n")
		stream.WriteString(document.Text)
	}
	return stream.String()
}

// Join writes objects as one YAML stream.
func Join(objects []*unstructured.Unstructured) (string, error) {
	written, err := Write(objects)
	return Stream(written), err
}

// Text writes an object as one document. Every YAML reader reads it as this object and as no other:
// it is YAML, or JSON if a string contains a character that readers treat differently.
func Text(object *unstructured.Unstructured) (string, error) {
	content, err := json.Marshal(object.Object)
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", nameOf(object), err)
	}
	if text := string(content); hasOddChars(text) {
		return escaped(text) + "\n", nil
	}
	document, err := toYAML(object.Object, content)
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", nameOf(object), err)
	}
	return string(document), nil
}

// toYAML returns what JSONToYAML returns for the JSON of an object. JSONToYAML reads that JSON with a
// parser of YAML, to find out which numbers are integers. This is two thirds of its time, and is needed
// for other numbers only.
func toYAML(object map[string]any, content []byte) ([]byte, error) {
	if hasOnlyIntegers(object) {
		return goyaml.Marshal(object)
	}
	return yaml.JSONToYAML(content)
}

// hasOnlyIntegers reports whether a value consists of types that both packages write in the same way.
func hasOnlyIntegers(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			if !hasOnlyIntegers(member) {
				return false
			}
		}
		return value != nil
	case []any:
		return value != nil && !slices.ContainsFunc(value, func(member any) bool { return !hasOnlyIntegers(member) })
	case nil, string, bool, int64:
		return true
	}
	return false
}

// OneLine writes an object as JSON that YAML readers read in the same way.
func OneLine(object map[string]any) (string, error) {
	content, err := json.Marshal(object)
	return escaped(string(content)), err
}

// hasOddChars reports whether the JSON of an object contains a character that not every reader of
// YAML accepts or keeps.
func hasOddChars(text string) bool {
	if strings.ContainsFunc(text, isOdd) {
		return true
	}
	for i := strings.IndexByte(text, '\\'); i >= 0 && i+1 < len(text); {
		if strings.IndexByte("bfru", text[i+1]) >= 0 && !isHarmlessEscape(text[i:]) {
			return true
		}
		next := strings.IndexByte(text[i+2:], '\\')
		if next < 0 {
			return false
		}
		i += 2 + next
	}
	return false
}

// isHarmlessEscape reports whether an escape of encoding/json stands for <, > or &.
func isHarmlessEscape(text string) bool {
	return strings.HasPrefix(text, `\u003c`) || strings.HasPrefix(text, `\u003e`) || strings.HasPrefix(text, `\u0026`)
}

// isOdd reports whether a character is no printable one for YAML: DEL and the C1 controls, among
// them a line break of YAML 1.1, a byte order mark, and what is no character.
func isOdd(r rune) bool {
	return 0x7f <= r && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == 0xfffe || r == 0xffff || r == utf8.RuneError
}

// escaped escapes the odd characters in JSON.
func escaped(text string) string {
	var made strings.Builder
	for _, r := range text {
		if isOdd(r) {
			fmt.Fprintf(&made, `\u%04x`, r)
			continue
		}
		made.WriteRune(r)
	}
	return made.String()
}
