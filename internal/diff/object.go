package diff

import (
	"encoding/base64"
	"fmt"
)

// AddSecret hides the values of an object if it is a Secret, and of the Secrets in it if it
// is a list.
func (m *Masker) AddSecret(object map[string]any) {
	items, _ := object["items"].([]any)
	for _, item := range items {
		if below, ok := item.(map[string]any); ok {
			m.AddSecret(below)
		}
	}
	if !isSecret(object) {
		return
	}
	data, _ := object["data"].(map[string]any)
	for _, value := range data {
		text, _ := value.(string)
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			m.AddValues(value)
			continue
		}
		m.addValue(string(decoded))
	}
	m.AddValues(object["stringData"])
}

func isSecret(object map[string]any) bool {
	return object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Object hides the values of an object that is a Secret, or of Secrets in a list, whatever
// they are, and in other objects what the masker knows.
func (m *Masker) Object(object map[string]any) {
	items, isList := object["items"].([]any)
	for _, item := range items {
		if below, ok := item.(map[string]any); ok {
			m.Object(below)
		}
	}
	if isSecret(object) {
		hideAll(object, "data")
		hideAll(object, "stringData")
		metadata, _ := object["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		if _, applied := annotations[lastApplied]; applied {
			annotations[lastApplied] = Sensitive // kubectl keeps the whole object there.
		}
	}
	for field, value := range object {
		if field != "apiVersion" && field != "kind" && (field != "items" || !isList) {
			object[field] = m.hideIn(value)
		}
	}
}

func hideAll(object map[string]any, field string) {
	entries, isMap := object[field].(map[string]any)
	if !isMap && object[field] != nil {
		object[field] = Sensitive
	}
	for key := range entries {
		entries[key] = Sensitive
	}
}

// hideIn hides what is known in all texts of a value.
func (m *Masker) hideIn(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			value[key] = m.hideIn(below)
		}
	case []any:
		for i, below := range value {
			value[i] = m.hideIn(below)
		}
	case string:
		return m.hide(value)
	case int64, float64:
		if m.Hides(fmt.Sprint(value)) {
			return Sensitive
		}
	}
	return value
}
