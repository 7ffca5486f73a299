package templates_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// In an upgrade, lookup returns only the objects of the release, as an API server would return
// them.
func TestUpgradeLooksUpItsRelease(t *testing.T) {
	t.Parallel()
	document := func(kind, namespace, content string) diff.Document {
		return diff.Document{Object: diff.Object{Kind: kind, Namespace: namespace, Name: "x"}, Content: content}
	}
	secret := func(fields string) []diff.Document {
		return []diff.Document{document("Secret", "ns", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},`+fields+`}`)}
	}
	const keeps = `{{ $found := lookup "v1" "Secret" .Release.Namespace "x" }}` +
		`{{ if $found }}{{ index $found.data "password" | b64dec }}{{ else }}{{ randAlphaNum 20 }}{{ end }}`
	tests := map[string]struct {
		template string
		release  []diff.Document
		want     string // "" if it differs from one time to the next
	}{
		"data":             {template: keeps, release: secret(`"data":{"password":"c3dvcmRmaXNo"}`), want: "swordfish"},
		"stringData":       {template: keeps, release: secret(`"stringData":{"password":"swordfish"}`), want: "swordfish"},
		"both":             {template: keeps, release: secret(`"data":{"password":"eA=="},"stringData":{"password":"swordfish"}`), want: "swordfish"},
		"no such object":   {template: keeps},
		"another kind":     {template: keeps, release: []diff.Document{document("ConfigMap", "ns", `{"apiVersion":"v1","kind":"ConfigMap","data":{"password":"x"}}`)}},
		"another version":  {template: strings.Replace(keeps, `"v1"`, `"v2"`, 1), release: secret(`"data":{"password":"c3dvcmRmaXNo"}`)},
		"other namespaces": {template: strings.Replace(keeps, ".Release.Namespace", `"other"`, 1), release: secret(`"data":{"password":"c3dvcmRmaXNo"}`)},
		"a namespace": {
			template: `{{ (lookup "v1" "ConfigMap" "ns" "x").metadata.namespace }}`, want: "ns",
			release: []diff.Document{document("ConfigMap", "ns", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`)},
		},
		"no namespace": {
			template: `{{ (lookup "v1" "Namespace" "" "x").metadata.name }}`, want: "x",
			release: []diff.Document{document("Namespace", "", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x"}}`)},
		},
		"a list":   {template: `found {{ (lookup "v1" "Secret" "ns" "").items | len }}`, release: secret(`"data":{}`), want: "found 0"},
		"revision": {template: `revision {{ .Release.Revision }} {{ .Release.IsUpgrade }}`, want: "revision 5 true"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			charts := newCharts()
			d := deployment(map[string]string{"Chart.yaml": chartYAML, "templates/x.yaml": configMap("x", test.template)}, func(d *target.Deployment) {
				d.Capabilities = &target.Capabilities{Version: "v1.36.0", Major: "1", Minor: "36"}
			})
			rendering, err := charts.Upgrade(t.Context(), d, 5, test.release)
			if err != nil {
				t.Fatal(err)
			}
			if (rendering.Irreproducible == "") != (test.want != "") {
				t.Fatalf("it is irreproducible because %q", rendering.Irreproducible)
			}
			if test.want == "" {
				return
			}
			want := []diff.Document{{
				Object: diff.Object{Kind: "ConfigMap", Namespace: "ns", Name: "x"}, APIVersion: "v1",
				Content: `{"apiVersion":"v1","data":{"key":"` + test.want + `"},"kind":"ConfigMap","metadata":{"name":"x"}}`,
			}}
			if diff := cmp.Diff(want, rendering.Documents); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
		})
	}
}
