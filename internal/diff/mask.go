package diff

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// maskedChanged replaces a value that has changed. A hash would reveal more.
const maskedChanged = "(sensitive value, changed)"

// secrets hides the values of the Secrets of a release, before and after a change.
type secrets struct{ *mask.Masker }

func secretsIn(manifests ...[]Document) secrets {
	found := secrets{&mask.Masker{}}
	found.Publish(namesIn(manifests...)...)
	for _, documents := range manifests {
		for _, document := range documents {
			if document.Group != "" || document.Kind != "Secret" {
				continue
			}
			// Content that cannot be read is not JSON, and Compare fails with it.
			if content, err := decodeContent(document.Content); err == nil {
				found.AddSecret(content)
			}
		}
	}
	return found
}

// mask hides secrets in an object before and after a change. Either can be nil.
func (s secrets) mask(before, after map[string]any) {
	if mask.IsSecret(before) || mask.IsSecret(after) {
		hideEach(before, after, "data")
		hideEach(before, after, "stringData")
		hide(annotationsOf(before), annotationsOf(after), wellknown.LastApplied)
	}
	pairs{s.maskText}.object(before, after)
}

// maskText masks a value if a text on either side contains a secret. A single line is hidden as a
// whole on both sides, because the other value may be another secret. In a longer text only the
// secret values are hidden.
func (s secrets) maskText(was, is any) (maskedWas, maskedIs any) {
	before, isBefore := was.(string)
	after, isAfter := is.(string)
	if (!isBefore || !s.Hides(before)) && (!isAfter || !s.Hides(after)) {
		return was, is
	}
	maskedWas, maskedIs = was, is
	if isLong(before) || isLong(after) {
		if isBefore {
			maskedWas = s.Text(before)
		}
		if isAfter {
			maskedIs = s.Text(after)
		}
		if isAfter && maskedIs == maskedWas && after != before {
			maskedIs = strings.Replace(s.Text(after), mask.Sensitive, maskedChanged, 1)
		}
		return maskedWas, maskedIs
	}
	if isBefore {
		maskedWas = mask.Sensitive
	}
	if isAfter {
		maskedIs = replacementFor(was != nil, was, is)
	}
	return maskedWas, maskedIs
}

func isLong(text string) bool { return strings.Contains(strings.TrimSpace(text), "\n") }

// replacementFor returns the replacement of a value after a change. had is true if the value
// existed before.
func replacementFor(had bool, was, is any) string {
	if !had || reflect.DeepEqual(was, is) {
		return mask.Sensitive
	}
	return maskedChanged
}

// hideEach hides all content of a field. A map keeps its keys.
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
		before[field] = mask.Sensitive
	}
	if has {
		after[field] = replacementFor(had, was, is)
	}
}

// keysOf returns the keys of both maps.
func keysOf(a, b map[string]any) []string {
	all := make(map[string]any, len(a))
	maps.Copy(all, a)
	maps.Copy(all, b)
	return slices.Collect(maps.Keys(all))
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
