package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	goyaml "go.yaml.in/yaml/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// itemsField is the field in which Helm's client finds the members of a list, whatever the kind of
// the object (k8s.io/apimachinery, unstructuredJSONScheme).
const itemsField = "items"

const metadataField = "metadata"

// objectFields and metadataFields are the fields that decide which object a document is. Helm reads
// some of them without regard to case, as encoding/json does.
func objectFields() []string { return []string{"apiVersion", "kind", metadataField, itemsField} }

func metadataFields() []string {
	return []string{"name", "generateName", "namespace", "labels", "annotations"}
}

// AmbiguousError reports a document that programs read differently, so that what was checked could
// differ from what is deployed.
type AmbiguousError struct {
	// Line is where the document begins, from 1, and 0 if it is not known.
	Line int
	// Object is the kind and the name, as far as they are known.
	Object string
	Reason string
}

func (e *AmbiguousError) Error() string {
	if e.Object == "" {
		return onLine(e.Line, e.Reason)
	}
	return onLine(e.Line, e.Object+": "+e.Reason)
}

// check returns an error for a document that not every reader reads as this object.
func (p parsedDocument) check() error {
	if !isSingle(p.text) {
		return &AmbiguousError{Line: p.line, Reason: "the document contains more than one value; separate them by lines of ---"}
	}
	return checkForm(p.object, p.line)
}

// checkForm checks an object and the members of a list.
func checkForm(object *unstructured.Unstructured, line int) error {
	if reason := formError(object.Object); reason != "" {
		return &AmbiguousError{Line: line, Object: strings.TrimSpace(nameOf(object)), Reason: reason}
	}
	if missing := missingIn(object); missing != "" {
		return &IncompleteError{Line: line, Missing: missing}
	}
	if items, isList := object.Object[itemsField].([]any); isList {
		for _, member := range membersOf(object, items) {
			if err := checkForm(member, line); err != nil {
				return err
			}
		}
	}
	return checkTexts(object, textFields(object))
}

// isCanonical reports whether every reader reads an object that is no list as the same object.
func isCanonical(object *unstructured.Unstructured) bool {
	_, hasItems := object.Object[itemsField]
	return !hasItems && formError(object.Object) == "" && checkTexts(object, metadataTexts()) == nil
}

// formError describes what readers could understand differently in an object, "" for nothing.
func formError(object map[string]any) string {
	if key, right := firstOtherSpelling(object, objectFields()); key != "" {
		return fmt.Sprintf("the field %q must be written %s", key, right)
	}
	if items, has := object[itemsField]; has {
		members, isList := items.([]any)
		if !isList || slices.ContainsFunc(members, isNoObject) {
			return "items must be a list of objects, because Helm treats every object with items as a list"
		}
	}
	metadata, isMap := object[metadataField].(map[string]any)
	if !isMap && object[metadataField] != nil {
		return "metadata must be a map"
	}
	if key, right := firstOtherSpelling(metadata, metadataFields()); key != "" {
		return fmt.Sprintf("the field %q of metadata must be written %s", key, right)
	}
	for _, field := range metadataFields() {
		if reason := metadataFieldError(field, metadata[field]); reason != "" {
			return reason
		}
	}
	return ""
}

// metadataFieldError describes why the value of a field of metadata has another type than in every
// object, "" if it has not.
func metadataFieldError(field string, value any) string {
	_, isMap := value.(map[string]any)
	_, isText := value.(string)
	switch isMapField := field == "labels" || field == "annotations"; {
	case value == nil:
	case isMapField && !isMap:
		return field + " of metadata must be a map"
	case !isMapField && !isText:
		return field + " of metadata is not text; put its value in quotes"
	}
	return ""
}

func isNoObject(item any) bool {
	_, ok := item.(map[string]any)
	return !ok
}

// firstOtherSpelling returns the first key of an object that is another spelling of one of fields,
// and how it must be written.
func firstOtherSpelling(object map[string]any, fields []string) (key, right string) {
	for found := range object {
		if field := otherSpelling(found, fields); field != "" && (key == "" || found < key) {
			key, right = found, field
		}
	}
	return key, right
}

// otherSpelling returns the one of fields that a key differs from by case alone, "" for none. Like
// encoding/json, it treats the Kelvin sign as k and the long s as s.
func otherSpelling(key string, fields []string) string {
	for _, field := range fields {
		if key != field && strings.EqualFold(key, field) {
			return field
		}
	}
	return ""
}

// isSingle reports whether a document contains one YAML or JSON value and nothing after it. The
// YAML decoder reads the first value of a text and ignores all others; other readers do not.
func isSingle(document []byte) bool {
	if isPlainMapping(document) {
		return true
	}
	values := goyaml.NewDecoder(bytes.NewReader(document))
	var value any
	err := values.Decode(&value)
	if err == nil {
		err = values.Decode(&value)
	}
	return errors.Is(err, io.EOF)
}

// isPlainMapping reports whether a document certainly is one block mapping: it begins with a key in
// the first column, and no line could end that mapping. It saves reading nearly all documents
// twice.
func isPlainMapping(document []byte) bool {
	if hasOddBreaks(document) {
		return false
	}
	begun := false
	for line := range bytes.Lines(document) {
		text := bytes.TrimRight(line, " \t\r\n")
		switch {
		case len(text) == 0 || text[0] == '#':
		case bytes.HasPrefix(text, []byte("---")) || bytes.HasPrefix(text, []byte("...")):
			return false
		case !begun:
			if !isLetter(text[0]) {
				return false
			}
			begun = true
		}
	}
	return begun
}

func isLetter(char byte) bool { return 'a' <= char|0x20 && char|0x20 <= 'z' }

// hasOddBreaks reports whether a text contains something else than a line feed, alone or after a
// carriage return, that YAML treats as the end of a line, or a byte order mark.
func hasOddBreaks(text []byte) bool {
	for i := 0; i < len(text); i++ {
		switch char := text[i]; {
		case char == '\r' && (i+1 == len(text) || text[i+1] != '\n'):
			return true
		case char >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(text[i:])
			if r == '\u0085' || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == utf8.RuneError {
				return true
			}
			i += size - 1
		}
	}
	return false
}
