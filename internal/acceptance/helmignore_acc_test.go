package acceptance_test

import (
	"strings"
	"testing"
)

// A .helmignore applies by default, and does not apply with helm_ignore = false, as in Fleet. For a
// state that was made without it, one plan shows a change, and the next plan shows none.
func TestAccHelmIgnore(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(t, "repo/app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n")
	w.write(t, "repo/app/.helmignore", "templates/ignored.yaml\n")
	w.write(t, "repo/app/templates/kept.yaml", configMap("kept", "x"))
	w.write(t, "repo/app/templates/ignored.yaml", configMap("ignored", "x"))
	configure := func(setting string) {
		t.Helper()
		w.configure(t, `
provider "fleet" { owner = "nobody" }
resource "fleet_gitrepo" "shop" {
  name      = "shop"
  directory = "${path.module}/repo"
  paths     = ["app"]
  `+setting+`
}
resource "fleet_bundle" "web" {
  name      = "web"
  directory = "${path.module}/repo/app"
  `+setting+`
}
data "fleet_render" "all" {
  bundles  = [fleet_gitrepo.shop.bundles, fleet_bundle.web.bundles]
  targets  = [{ all = true }]
  clusters = { a = {} }
}
output "manifests" {
  value     = { for key, made in data.fleet_render.all.deployments : key => made.manifest }
  sensitive = true
}
`)
	}
	expect := func(want int) {
		t.Helper()
		w.apply(t)
		manifests := w.run(t, "output", "-json", "manifests")
		if kept, ignored := strings.Count(manifests, "name: kept"), strings.Count(manifests, "name: ignored"); kept != 2 || ignored != want {
			t.Errorf("of two bundles, %d have what is kept and %d what is ignored, want %d:\n%s", kept, ignored, want, manifests)
		}
		w.expectEmptyPlan(t)
	}
	configure("helm_ignore = false")
	expect(2)
	configure("")
	expect(0)
	configure("helm_ignore = true")
	expect(0)
	configure("helm_ignore = false")
	expect(2)
}
