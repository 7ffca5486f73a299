package templates_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Helm and Fleet match with gobwas/glob 0.2.3, and charts rely on it. Later versions match other files,
// and Helm takes all files of a chart where a pattern is an error there.
func TestFilesMatchAsInHelm(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pattern string
		want    string
	}{
		"one folder":              {pattern: "conf/*", want: "conf/a.yaml conf/b"},
		"folders, and none":       {pattern: "conf/**/a.yaml", want: "conf/a.yaml conf/x/a.yaml"},
		"three asterisks":         {pattern: "conf/***", want: "conf/a.yaml conf/b conf/x/a.yaml"},
		"a list":                  {pattern: "{conf/b,secret}", want: "conf/b secret"},
		"a list without an end":   {pattern: "conf/{b", want: "conf/b"},
		"a class without an end":  {pattern: "conf/[b", want: "conf/a.yaml conf/b conf/x/a.yaml secret"},
		"an escape of nothing":    {pattern: `conf/b\`, want: "conf/b"},
		"ends that share letters": {pattern: "sec**cret", want: "secret"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			template := fmt.Sprintf("{{ range $path, $_ := .Files.Glob %q }}{{ $path }} {{ end }}", test.pattern)
			files := map[string]string{"conf/a.yaml": "", "conf/b": "", "conf/x/a.yaml": "", "secret": ""}
			manifest, _, err := newCharts().Template(t.Context(), deployment(nonDeterministicChart(template, files), nil), "v1.36.0")
			if err != nil {
				t.Fatal(err)
			}
			_, found, _ := strings.Cut(manifest, "t: |\n    ")
			found, _, _ = strings.Cut(found, "\n")
			if diff := cmp.Diff(test.want, strings.TrimSpace(found)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}
