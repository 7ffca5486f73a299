package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// chartOf is a chart with one config map that contains its version.
func chartOf(name, version string) charttest.Chart {
	return charttest.Chart{Name: name, Version: version, Files: map[string]string{
		"templates/cm.yaml": configMap(name, version+" {{ .Values.word }}"),
		"values.yaml":       "word: default\n",
	}}
}

// Charts are read from an archive, from git, and from a Helm repository and an OCI registry with
// TLS of a private authority and a login. They stay the same when newer ones appear.
func TestAccCharts(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	charts := charttest.New(t, charttest.Options{Username: "ci", Password: "s3cret-word", Bearer: true, TLS: true})
	charts.AddChart(chartOf("web", "1.1.0"))
	charts.AddChart(chartOf("web", "2.0.0"))
	charts.AddChart(chartOf("base", "0.3.0"))
	charts.PushChart("library/db", chartOf("db", "4.2.0"))
	archive := charts.AddFile("/files/cache.tgz", chartOf("cache", "7.0.0").Package())
	git := gittest.New(t, gittest.Options{})
	commit := func(files map[string]string) {
		t.Helper()
		if _, err := git.Commit(t.Context(), "fleet", "main", "Change", files); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{
		"web/fleet.yaml": fmt.Sprintf("defaultNamespace: %s\nhelm:\n  repo: %s\n  chart: web\n  version: ~1\n  valuesFiles: [own.yaml]\n", s.namespace, charts.RepositoryURL()),
		"web/own.yaml":   "word: own\n",
		// A chart whose dependency is in another place.
		"app/fleet.yaml":         "defaultNamespace: " + s.namespace + "\nhelm: {chart: chart}\n",
		"app/chart/Chart.yaml":   fmt.Sprintf("apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: base, version: '>=0.1', repository: %q}]\n", charts.RepositoryURL()),
		"shared/Chart.yaml":      "apiVersion: v2\nname: shared\nversion: 5.0.0\n",
		"shared/templates/a.yml": configMap("shared", "5.0.0"),
	}
	commit(files)
	configure := func(password, generation string) {
		t.Helper()
		host := strings.TrimPrefix(charts.URL(""), "https://")
		registry := fmt.Sprintf("{ username = \"ci\", password = %q, ca_bundle = <<-PEM\n%sPEM\n }", password, charts.CA())
		w.configure(t, s.provider(fmt.Sprintf("  registries = {\n    %q = %s\n    %q = %s\n  }\n", charts.URL(""), registry, "oci://"+host, registry), on),
			fmt.Sprintf(`
resource "fleet_gitrepo" "fleet" {
  name   = "fleet"
  repo   = %q
  branch = "main"
  paths  = ["web", "app"]
  %s
}
resource "fleet_bundle" "db" {
  name              = "db"
  chart             = { repo = %q, version = "^4" }
  default_namespace = %q
  helm              = { values = yamlencode({ word = "hcl" }) }
}
resource "fleet_bundle" "cache" {
  name              = "cache"
  chart             = { name = %q }
  default_namespace = %q
}
resource "fleet_bundle" "shared" {
  name              = "shared"
  git               = { repo = %q, revision = "main", path = "shared" }
  default_namespace = %q
}
`, git.URL("fleet"), generation, charts.RegistryURL("library/db"), s.namespace, archive, s.namespace, git.URL("fleet"), s.namespace),
			target("", "fleet_gitrepo.fleet.bundles", "fleet_bundle.db.bundles", "fleet_bundle.cache.bundles", "fleet_bundle.shared.bundles"))
	}
	versions := func() map[string]string {
		t.Helper()
		shown, found := w.shown(t), map[string]string{}
		for key := range shown.Deployments {
			found[key] = shown.record(t, key).Version
		}
		return found
	}

	configure("wrong", "")
	output := w.fail(t, []string{"apply", "-auto-approve"}, "the server refused the credentials", "registries")
	if strings.Contains(output, "s3cret-word") {
		t.Error("the password can be read")
	}
	s.expectReleases(t, 0)

	configure("s3cret-word", "")
	w.apply(t)
	want := map[string]string{"a/fleet-web": "1.1.0", "a/fleet-app": "1.0.0", "a/db": "4.2.0", "a/cache": "7.0.0", "a/shared": "5.0.0"}
	if diff := cmp.Diff(want, versions()); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"web": "1.1.0 own", "base": "0.3.0 default", "db": "4.2.0 hcl", "cache": "7.0.0 default", "shared": "5.0.0"} {
		if got := s.value(t, 0, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}

	// Newer versions that the constraints allow are used only on request.
	charts.AddChart(chartOf("web", "1.2.0"))
	charts.PushChart("library/db", chartOf("db", "4.3.0"))
	w.expectEmptyPlan(t)
	files["web/own.yaml"] = "word: changed\n"
	commit(files)
	w.apply(t)
	if got := s.value(t, 0, "web"); got != "1.1.0 changed" {
		t.Errorf("web is %q", got)
	}
	configure("s3cret-word", "force_sync_generation = 1")
	w.apply(t)
	if got := s.value(t, 0, "web"); got != "1.2.0 changed" {
		t.Errorf("web is %q", got)
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
