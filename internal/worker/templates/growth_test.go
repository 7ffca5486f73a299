package templates_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A cluster serves the API versions of Kubernetes and of the groups that are installed there. Other
// API versions that a chart queries can be added before it is deployed.
func TestRenderForClusterThatMayGrow(t *testing.T) {
	t.Parallel()
	const (
		has     = `{{ if .Capabilities.APIVersions.Has %q }}%s{{ end }}`
		monitor = "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: monitor\n"
	)
	tests := map[string]struct {
		// template is the text of the one entry of a ConfigMap, and after follows it.
		template, after string
		// want is the key of the ConfigMap with "known" or "open", and cause why it is not known.
		want, cause string
	}{
		"version":                {template: `{{ .Capabilities.KubeVersion.Version }}`, want: "known"},
		"served, another object": {template: `a`, after: fmt.Sprintf(has, "cert-manager.io/v1", monitor), want: "", cause: "serves cert-manager.io/v1"},
		"group of Kubernetes":    {template: fmt.Sprintf(has, "policy/v1beta1", "x"), want: "known"},
		"group of OpenShift":     {template: fmt.Sprintf(has, "route.openshift.io/v1", "x"), want: "known"},
		"installed group":        {template: fmt.Sprintf(has, "cert-manager.io/v1", "x"), want: "known"},
		"impossible name":        {template: fmt.Sprintf(has, "No Such Thing", "x"), want: "known"},
		"decides nothing":        {template: `{{ $_ := .Capabilities.APIVersions.Has "monitoring.coreos.com/v1" }}a`, want: "known"},
		"missing group":          {template: fmt.Sprintf(has, "monitoring.coreos.com/v1", "x"), want: "open", cause: "its templates ask whether the cluster serves monitoring.coreos.com/v1"},
		"missing kind":           {template: fmt.Sprintf(has, "cert-manager.io/v1/Magic", "x"), want: "open", cause: "serves cert-manager.io/v1/Magic"},
		"another object":         {template: `a`, after: fmt.Sprintf(has, "monitoring.coreos.com/v1", monitor), want: "", cause: "serves monitoring.coreos.com/v1"},
		"one leads to another":   {template: fmt.Sprintf(has, "a.example.com/v1", fmt.Sprintf(has, "b.example.com/v1", "x")), want: "open", cause: "serves a.example.com/v1, b.example.com/v1"},
		"fails without":          {template: `{{ if not (.Capabilities.APIVersions.Has "x.example.com/v1") }}{{ fail "x is missing" }}{{ end }}`, want: "", cause: "serves x.example.com/v1"},
		"mistaken with":          {template: `a`, after: fmt.Sprintf(has, "x.example.com/v1", "\n---\n"+configMap("a", "x")), want: "", cause: "serves x.example.com/v1"},
		"fails with and without": {template: `{{ if not (.Capabilities.APIVersions.Has "x.example.com/v1") }}{{ fail "x is missing" }}{{ else }}{{ fail "x is there" }}{{ end }}`, want: "", cause: "x is missing"},
		"prints all":             {template: `{{ .Capabilities.APIVersions | join " " | sha256sum }}`, want: "", cause: "read which API versions the cluster serves"},
		"walks through all":      {template: `{{ range .Capabilities.APIVersions }}{{ . }} {{ end }}`, want: "", cause: "read which API versions the cluster serves"},
		"looks in the list":      {template: `{{ has "x.example.com/v1" .Capabilities.APIVersions }}`, want: "", cause: "read which API versions the cluster serves"},
		"asks for very many":     {template: `{{ range until 1000 }}{{ if $.Capabilities.APIVersions.Has (printf "g%d.example.com/v1" .) }}x{{ end }}{{ end }}`, want: "", cause: "read which API versions the cluster serves"},
		"random as well":         {template: fmt.Sprintf(has, "monitoring.coreos.com/v1", "x") + `{{ randAlpha 3 }}`, want: "open", cause: "randAlpha"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			served := target.Capabilities{Version: "v1.34.1", Major: "1", Minor: "34", APIs: slices.Clone(chartutil.DefaultVersionSet), MayGrow: true}
			served = served.With([]string{"cert-manager.io/v1", "cert-manager.io/v1/Certificate"})
			rendering, err := newCharts().Render(t.Context(), deployment(nonDeterministicChart(test.template, map[string]string{"templates/z.yaml": test.after}), func(d *target.Deployment) { d.Capabilities = &served }))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for key, hash := range rendering.KnownHashes() {
				if strings.HasPrefix(key, "ConfigMap/") {
					got = append(got, map[bool]string{true: "known", false: "open"}[hash != ""])
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if (test.cause == "") != (rendering.Irreproducible == "") || !strings.Contains(rendering.Irreproducible, test.cause) {
				t.Errorf("got cause %q, want %q", rendering.Irreproducible, test.cause)
			}
			if rendering.NamesDependOnCluster {
				t.Error("another plan of the same create could show other names")
			}
		})
	}
}
