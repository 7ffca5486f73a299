package mask

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
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
	if !IsSecret(object) {
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
		m.AddValue(string(decoded))
	}
	m.AddValues(object["stringData"])
}

// IsSecret reports whether an object is a Secret.
func IsSecret(object map[string]any) bool {
	return object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

// Object hides all values of an object that is a Secret, and of the Secrets in a list. In other
// objects it hides the values that were added to the masker.
func (m *Masker) Object(object map[string]any) {
	items, isList := object["items"].([]any)
	for _, item := range items {
		if below, ok := item.(map[string]any); ok {
			m.Object(below)
		}
	}
	if IsSecret(object) {
		hideAll(object, "data")
		hideAll(object, "stringData")
		metadata, _ := object["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		if _, applied := annotations[wellknown.LastApplied]; applied {
			annotations[wellknown.LastApplied] = Sensitive
		}
	}
	for field, value := range object {
		if field != "apiVersion" && field != "kind" && (field != "items" || !isList) {
			object[field] = m.hideIn(value)
		}
	}
}

// hideKey returns the key of a map without secret values, and different from the other keys. Short
// keys stay, because most are names of fields, which can be values of a Secret as well.
func (m *Masker) hideKey(key string, of map[string]any) string {
	hidden := m.Hide(key)
	if len(key) < Anywhere || hidden == key {
		return key
	}
	shown := hidden
	for n := 2; ; n++ {
		if _, taken := of[shown]; !taken {
			return shown
		}
		shown = fmt.Sprintf("%s %d", hidden, n)
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

// hideIn hides secret values in all texts of a value.
func (m *Masker) hideIn(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			below := m.hideIn(value[key])
			if shown := m.hideKey(key, value); shown != key {
				delete(value, key)
				key = shown
			}
			value[key] = below
		}
	case []any:
		for i, below := range value {
			value[i] = m.hideIn(below)
		}
	case string:
		return m.Hide(value)
	case int64, float64:
		if m.Hides(fmt.Sprint(value)) {
			return Sensitive
		}
	}
	return value
}
