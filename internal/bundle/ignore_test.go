package bundle

import (
	"path"
	"strings"
	"testing"
)

// FuzzRules checks that every line is a valid pattern, a comment, or an error that names the
// line.
func FuzzRules(f *testing.F) {
	for _, seed := range []string{"", "# a\n*.tmp  \ndir/*\n", "[", "[a-]\r\n\\ \n/*", "**/a\n!b"} {
		f.Add(seed, "a.tmp")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		rules, err := parseRules([]byte(text))
		if err != nil {
			if line, _, ok := strings.Cut(err.Error(), ":"); !ok || line == "" {
				t.Errorf("error %q names no line", err)
			}
			return
		}
		for _, r := range rules {
			if r.inFolder {
				continue
			}
			if _, err := path.Match(r.pattern, name); err != nil {
				t.Errorf("pattern %q: %v", r.pattern, err)
			}
		}
	})
}
