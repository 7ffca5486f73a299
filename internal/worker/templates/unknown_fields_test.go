package templates_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A field that the type of a built-in kind lacks is found with its file, and its line in a plain
// manifest. API servers would drop it silently.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	const misspelt = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replcias: 3\n  template:\n    spec:\n      containers:\n      - name: web\n        imag: web\n"
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"a plain manifest": {map[string]string{"sub/a.yaml": configMap("a", "x") + "---\n" + misspelt}, []string{
			"sub/a.yaml:12: Deployment web: spec.replcias", "sub/a.yaml:17: Deployment web: spec.template.spec.containers[0].imag",
		}},
		"a chart": {map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": misspelt}, []string{
			"web/templates/a.yaml: Deployment web: spec.replcias", "web/templates/a.yaml: Deployment web: spec.template.spec.containers[0].imag",
		}},
		"in a list":           {map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: s}\n  spec:\n    port: 80\n"}, []string{"a.yaml:8: Service s: spec.port"}},
		"keys of a map":       {map[string]string{"a.yaml": configMap("a", "x")}, nil},
		"another kind":        {map[string]string{"a.yaml": "apiVersion: example.com/v1\nkind: Deployment\nmetadata: {name: p}\nspec: {replcias: 1}\n"}, nil},
		"content that varies": {map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": misspelt + "  paused: {{ randNumeric 1 }}\n"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rendering, err := newCharts().Render(t.Context(), deployment(test.files, nil))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, field := range rendering.UnknownFields {
				got = append(got, field.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("unknown fields (-want +got):\n%s", diff)
			}
		})
	}
}
