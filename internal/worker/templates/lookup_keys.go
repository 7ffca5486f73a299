package templates

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
)

var keyOfData = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

// Limits for the objects that lookups find: bytes of a key, and number of keys.
const (
	maxKeyOfData     = 63
	maxCandidateKeys = 2000
)

// candidateKeys returns the keys that templates could read from an object that a lookup finds:
// constants in templates, and texts among the values. If a key is missing here, the only effect is
// that objects are unknown.
func candidateKeys(c *chart.Chart, values map[string]any) []string {
	found := keySet{}
	if !found.addTemplates(c) {
		return nil
	}
	if set, ok := values["Values"].(interface{ AsMap() map[string]any }); ok {
		found.addValues(set.AsMap())
	}
	return slices.Sorted(maps.Keys(found))
}

// keySet is a set of keys of data in objects.
type keySet map[string]bool

func (k keySet) add(text string) {
	if len(k) < maxCandidateKeys && len(text) <= maxKeyOfData && keyOfData.MatchString(text) {
		k[text] = true
	}
}

// addTemplates adds the constants of templates, and reports whether one of them has a lookup.
func (k keySet) addTemplates(c *chart.Chart) (hasLookup bool) {
	for _, file := range c.Templates {
		text := string(file.Data)
		if !strings.Contains(text, "lookup") && !strings.Contains(text, "ecret") {
			continue
		}
		hasLookup = hasLookup || strings.Contains(text, "lookup")
		for _, word := range words.FindAllString(text, -1) {
			k.add(strings.Trim(word, `"'.`+"`"))
		}
	}
	for _, child := range c.Dependencies() {
		hasLookup = k.addTemplates(child) || hasLookup
	}
	return hasLookup
}

func (k keySet) addValues(value any) {
	switch value := value.(type) {
	case string:
		k.add(value)
	case []any:
		for _, item := range value {
			k.addValues(item)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			k.addValues(value[key])
		}
	}
}

// words matches constants and fields in templates.
var words = regexp.MustCompile("[\"'`][-._a-zA-Z0-9]+[\"'`]|\\.[a-zA-Z_][a-zA-Z0-9_]*")
