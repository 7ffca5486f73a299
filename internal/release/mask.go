package release

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
)

// What stands where a value was. The second is for one that is not as it was before:
// a hash would tell more.
const (
	masked        = "(sensitive value)"
	maskedChanged = "(sensitive value, changed)"
)

const (
	// shortestSecret is the length from which a text that equals a value of a Secret
	// is taken for it, wherever it stands. Shorter ones are words.
	shortestSecret = 8
	// shortestPart is the same for a text that contains one.
	shortestPart = 16
)

// lastApplied is where kubectl keeps a whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// secrets are the values of the Secrets of a release, before and after a change.
type secrets struct{ values map[string]bool }

func secretsIn(manifests ...[]Document) secrets {
	found := secrets{values: map[string]bool{}}
	for _, documents := range manifests {
		for _, document := range documents {
			if document.Group != "" || document.Kind != "Secret" {
				continue
			}
			// What cannot be read is no JSON, and Compare fails with it.
			if content, err := decodeContent(document.Content); err == nil {
				found.learn(content)
			}
		}
	}
	return found
}

func (s secrets) learn(secret map[string]any) {
	data, _ := secret["data"].(map[string]any)
	for _, value := range data {
		text, _ := value.(string)
		s.add(text)
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			s.add(string(decoded))
		}
	}
	plain, _ := secret["stringData"].(map[string]any)
	for _, value := range plain {
		text, _ := value.(string)
		s.add(text)
		s.add(base64.StdEncoding.EncodeToString([]byte(text)))
	}
}

func (s secrets) add(value string) {
	if value = strings.TrimSpace(value); len(value) >= shortestSecret {
		s.values[value] = true
	}
}

// knows says whether a text is, or contains, a value of a Secret.
func (s secrets) knows(text string) bool {
	if s.values[strings.TrimSpace(text)] {
		return true
	}
	for value := range s.values {
		if len(value) >= shortestPart && strings.Contains(text, value) {
			return true
		}
	}
	return false
}

// mask hides secrets in an object as it was and as it is, either of which can be nil.
func (s secrets) mask(before, after map[string]any) {
	if isSecret(before) || isSecret(after) {
		hideEach(before, after, "data")
		hideEach(before, after, "stringData")
		hide(annotationsOf(before), annotationsOf(after), lastApplied)
	}
	for _, field := range keysOf(before, after) {
		switch field {
		case "apiVersion", "kind":
		case "metadata":
			s.maskMetadata(before, after)
		default:
			s.maskField(before, after, field)
		}
	}
}

func isSecret(object map[string]any) bool {
	return object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

// maskMetadata leaves the name of an object alone, which is told anyway.
func (s secrets) maskMetadata(before, after map[string]any) {
	was, _ := before["metadata"].(map[string]any)
	is, _ := after["metadata"].(map[string]any)
	for _, field := range keysOf(was, is) {
		if field != "name" && field != "namespace" {
			s.maskField(was, is, field)
		}
	}
}

// maskField looks for values of Secrets in a field.
func (s secrets) maskField(before, after map[string]any, field string) {
	was, had := before[field]
	is, has := after[field]
	maskedWas, maskedIs := s.maskValue(was, is)
	if had {
		before[field] = maskedWas
	}
	if has {
		after[field] = maskedIs
	}
}

func (s secrets) maskValue(was, is any) (maskedWas, maskedIs any) {
	switch was := was.(type) {
	case map[string]any:
		other, same := is.(map[string]any)
		for _, field := range keysOf(was, other) {
			s.maskField(was, other, field)
		}
		if same {
			return was, is
		}
	case []any:
		other, same := is.([]any)
		for i := range max(len(was), len(other)) {
			s.maskItem(was, other, i)
		}
		if same {
			return was, is
		}
	}
	switch is := is.(type) {
	case map[string]any:
		for field := range is {
			s.maskField(nil, is, field)
		}
	case []any:
		for i := range is {
			s.maskItem(nil, is, i)
		}
	}
	return s.maskText(was, is)
}

func (s secrets) maskItem(before, after []any, i int) {
	var was, is any
	if i < len(before) {
		was = before[i]
	}
	if i < len(after) {
		is = after[i]
	}
	maskedWas, maskedIs := s.maskValue(was, is)
	if i < len(before) {
		before[i] = maskedWas
	}
	if i < len(after) {
		after[i] = maskedIs
	}
}

// maskText masks what is text on either side.
func (s secrets) maskText(was, is any) (maskedWas, maskedIs any) {
	before, isBefore := was.(string)
	after, isAfter := is.(string)
	knowsBefore, knowsAfter := isBefore && s.knows(before), isAfter && s.knows(after)
	if !knowsBefore && !knowsAfter {
		return was, is
	}
	maskedWas, maskedIs = was, is
	if isBefore {
		maskedWas = masked
	}
	if isAfter {
		maskedIs = instead(was != nil, was, is)
	}
	return maskedWas, maskedIs
}

// instead is what stands for a value as it is, given what it was if it was there.
func instead(had bool, was, is any) string {
	if !had || reflect.DeepEqual(was, is) {
		return masked
	}
	return maskedChanged
}

// hideEach hides all that stands in a field, whatever it is.
func hideEach(before, after map[string]any, field string) {
	was, wasMap := before[field].(map[string]any)
	is, isMap := after[field].(map[string]any)
	if (!wasMap && before[field] != nil) || (!isMap && after[field] != nil) {
		hide(before, after, field)
		return
	}
	for _, key := range keysOf(was, is) {
		hide(was, is, key)
	}
}

func hide(before, after map[string]any, field string) {
	was, had := before[field]
	is, has := after[field]
	if had {
		before[field] = masked
	}
	if has {
		after[field] = instead(had, was, is)
	}
}

// keysOf are the keys of either map.
func keysOf(a, b map[string]any) []string {
	keys := make([]string, 0, len(a))
	for key := range a {
		keys = append(keys, key)
	}
	for key := range b {
		if _, known := a[key]; !known {
			keys = append(keys, key)
		}
	}
	return keys
}

// decodeContent reads an object. Numbers stay as they are written.
func decodeContent(content string) (map[string]any, error) {
	reader := json.NewDecoder(strings.NewReader(content))
	reader.UseNumber()
	var object map[string]any
	if err := reader.Decode(&object); err != nil {
		return nil, err
	}
	return object, nil
}
