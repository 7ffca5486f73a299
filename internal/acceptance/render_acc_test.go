package acceptance_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Bundles are rendered without a cluster, a connection or a credential; Secrets are masked unless
// show_secrets is set.
func TestAccRender(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	const manifest = `apiVersion: v1
kind: Secret
metadata:
  name: {{ .Release.Name }}
stringData:
  zone: {{ .Values.zone }}
`
	w.configure(t, `
provider "fleet" {
  owner = "nobody"
  cluster_groups = { all = { selector = { all = true } } }
}
resource "fleet_bundle" "app" {
  name  = "app"
  namespace = "app"
  files = {
    "Chart.yaml"         = yamlencode({ apiVersion = "v2", name = "app", version = "1.0.0" })
    "templates/app.yaml" = `+"<<-EOT\n"+manifest+"\nEOT"+`
  }
  helm = { values = yamlencode({ zone = "$${ .ClusterLabels.zone }" }) }
}
data "fleet_render" "app" {
  for_each     = toset(["masked", "shown"])
  bundles      = [fleet_bundle.app.bundles]
  targets      = [{ cluster_group = "all", cluster_selector = { match_expressions = [{ key = "zone", operator = "Exists" }] } }]
  clusters     = { a = { labels = { zone = "z1" } }, b = { labels = { zone = "z2" } }, c = {} }
  show_secrets = each.key == "shown"
}
output "masked" {
  value     = data.fleet_render.app["masked"].deployments
  sensitive = true
}
output "shown" {
  value     = data.fleet_render.app["shown"].deployments
  sensitive = true
}
`)
	w.apply(t)
	type deployment struct{ Release, Namespace, Options, Manifest string }
	outputs := func(name string) map[string]deployment {
		t.Helper()
		var found map[string]deployment
		if err := json.Unmarshal([]byte(w.run(t, "output", "-json", name)), &found); err != nil {
			t.Fatal(err)
		}
		return found
	}
	of := func(zone, shown string) deployment {
		return deployment{
			Release: "app", Namespace: "app",
			Options:  `{"namespace":"app","helm":{"values":{"zone":"` + zone + `"}}}`,
			Manifest: "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: app\n  namespace: app\nstringData:\n  zone: " + shown + "\n",
		}
	}
	want := map[string]deployment{"a/app": of("z1", "(sensitive value)"), "b/app": of("z2", "(sensitive value)")}
	if diff := cmp.Diff(want, outputs("masked")); diff != "" {
		t.Errorf("masked (-want +got):\n%s", diff)
	}
	want = map[string]deployment{"a/app": of("z1", "z1"), "b/app": of("z2", "z2")}
	if diff := cmp.Diff(want, outputs("shown")); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}
