package render

import (
	"slices"
	"strings"
	"testing"
)

// A template can make a text of any length. It is compared with the words of files only if it can be
// a name.
func TestLongTextsAreNoNames(t *testing.T) {
	t.Parallel()
	known := nameSources{words: map[string]bool{"a": true, "a-": true}}
	for name, text := range map[string]string{
		"colons": strings.Repeat("a:", 2<<20), "dashes": strings.Repeat("a-", 2<<20),
	} {
		if known.have(text) {
			t.Errorf("%s: the text counts as a name", name)
		}
		if hidden := known.addHidden(nil, map[string]any{"a": text}); name == "dashes" && !slices.Equal(hidden, []string{text}) {
			t.Errorf("%s: %d texts are hidden", name, len(hidden))
		}
	}
}
