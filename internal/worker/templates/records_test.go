package templates_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A plan refuses a bundle that contains a release record of Helm.
func TestBundleHoldsNoRecord(t *testing.T) {
	t.Parallel()
	secret := func(rest string) string { return "apiVersion: v1\nkind: Secret\n" + rest + "\n" }
	chart := func(template string) map[string]string {
		return map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": template}
	}
	const typed = "metadata: {name: x}\ntype: helm.sh/release.v1"
	tests := map[string]struct {
		files  map[string]string
		change func(*target.Deployment)
		want   string
	}{
		"by its type":          {files: chart(secret(typed)), want: "Secret ns/x"},
		"by its label":         {files: chart(secret("metadata: {name: x, namespace: other, labels: {owner: helm}}")), want: "Secret other/x"},
		"by a label with null": {files: chart(secret("metadata: {name: x, labels: {owner: helm, other: null}}")), want: "Secret ns/x"},
		"by its name":          {files: chart(secret("metadata: {name: sh.helm.release.v1.web.v1}")), want: "Secret ns/sh.helm.release.v1.web.v1"},
		"by a generated name":  {files: chart(secret("metadata: {generateName: sh.helm.release.v1.web.v}")), want: "Secret ns/sh.helm.release.v1.web.v*"},
		"a ConfigMap":          {files: chart("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {owner: helm}}\n"), want: "ConfigMap ns/x"},
		"in a list": {
			files: map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: SecretList, items: [{metadata: {name: x}, type: helm.sh/release.v1}]}\n"},
			want:  "Secret ns/x",
		},
		"a hook":           {files: map[string]string{"a.yaml": secret("metadata: {name: x, annotations: {helm.sh/hook: test}}\ntype: helm.sh/release.v1")}, want: "Secret ns/x"},
		"in crds":          {files: map[string]string{"Chart.yaml": chartYAML, "crds/a.yaml": secret(typed)}, want: "Secret ns/x"},
		"in a subchart":    {files: map[string]string{"Chart.yaml": chartYAML, "charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n", "charts/sub/crds/a.yaml": secret(typed)}, want: "Secret ns/x"},
		"after kustomize":  {files: map[string]string{"kustomization.yaml": "resources: [a.yaml]\nlabels: [{pairs: {owner: helm}}]\n", "a.yaml": secret("metadata: {name: x}")}, want: "Secret ns/x"},
		"in one namespace": {files: chart(secret(typed)), change: func(d *target.Deployment) { d.Options.Namespace = "ns" }, want: "Secret ns/x"},
		"where the cluster decides, and here too": {
			files: chart("{{ $found := lookup \"v1\" \"Secret\" \"ns\" \"x\" }}" + secret(typed)), want: "Secret ns/x",
		},
		"from values of the cluster, in crds": {
			files: map[string]string{"Chart.yaml": chartYAML, "crds/a.yaml": secret(typed)},
			change: func(d *target.Deployment) {
				d.Options.Helm = &fleetyaml.Helm{ValuesFrom: []fleetyaml.ValuesFrom{{SecretKeyRef: &fleetyaml.KeyRef{Name: "v", Namespace: "ns"}}}}
			},
			want: "Secret ns/x",
		},
		"another Secret":       {files: chart(secret("metadata: {name: x, labels: {owner: me}}\ntype: Opaque"))},
		"another kind":         {files: chart("apiVersion: example.com/v1\nkind: Secret\nmetadata: {name: x, labels: {owner: helm}}\n")},
		"a ConfigMap's fields": {files: chart("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ntype: helm.sh/release.v1\n")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newCharts().Render(t.Context(), deployment(test.files, test.change))
			found := ""
			if refused, ok := errors.AsType[*manifest.ForbiddenRecordError](err); ok {
				found = refused.Kind + " " + refused.Object
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, found); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}
