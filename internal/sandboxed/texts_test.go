package sandboxed_test

import (
	"strings"
	"testing"
)

// An object that does not decode is named with its bundle and file, and with its line where
// the file is the object.
func TestValuesThatAreNoTexts(t *testing.T) {
	t.Parallel()
	const annotated = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations: {a: yes}\n"
	const number = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1}\n"
	tests := map[string]struct {
		files map[string]string
		want  string
	}{
		"an annotation of a plain manifest": {map[string]string{"sub/a.yaml": annotated}, "bundle b: sub/a.yaml: line 5: ConfigMap a: a of metadata.annotations is not text"},
		"data of a plain manifest":          {map[string]string{"a.yaml": number}, "bundle b: a.yaml: line 4: ConfigMap a: a of data is not text"},
		"an annotation in a chart":          {map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": annotated}, "bundle b: web/templates/a.yaml: ConfigMap a: a of metadata.annotations is not text"},
		"data in a chart":                   {map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": number}, "bundle b: web/templates/a.yaml: ConfigMap a: a of data is not text"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := newCharts().Render(t.Context(), deployment(test.files, nil)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want it to contain %q", err, test.want)
			}
		})
	}
}
