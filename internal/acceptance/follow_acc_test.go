package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// Plans show and apply the newer versions of a chart that follows its constraint. It never moves
// back, and tags that cannot be listed change nothing.
func TestAccChartFollowsItsConstraint(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	charts := charttest.New(t, charttest.Options{})
	add := func(version string) {
		charts.AddChart(chartOf("web", version))
		charts.PushChart("acme/db", chartOf("db", version))
	}
	add("1.0.0")
	configure := func(follow, constraint string) {
		t.Helper()
		w.configure(t, s.provider(fmt.Sprintf("  registries = { %q = { plain_http = true } }\n", charts.RegistryURL("acme")), on), fmt.Sprintf(`
resource "fleet_bundle" "web" {
  name              = "web"
  chart             = { repo = %q, name = "web", version = %q, follow = %q }
  default_namespace = %q
}
resource "fleet_bundle" "db" {
  name              = "db"
  chart             = { repo = %q, version = %q, follow = %q }
  default_namespace = %q
}
`, charts.RepositoryURL(), constraint, follow, s.namespace, charts.RegistryURL("acme/db"), constraint, follow, s.namespace),
			target("", "fleet_bundle.web.bundles", "fleet_bundle.db.bundles"))
	}
	expect := func(version string) {
		t.Helper()
		for _, name := range []string{"web", "db"} {
			if got := s.value(t, 0, name); got != version+" default" {
				t.Errorf("%s is %q, want version %s", name, got, version)
			}
		}
	}
	both := []string{"~ a/db", "~ a/web"}

	configure("pinned", "~1")
	w.apply(t)
	add("1.1.0")
	add("2.0.0")
	w.expectEmptyPlan(t)

	// The first refresh after the apply that sets constraint finds the newer version.
	configure("constraint", "~1")
	w.apply(t)
	expect("1.0.0")
	if diff := cmp.Diff(both, w.plannedChanges(t)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	w.apply(t)
	expect("1.1.0")
	w.expectEmptyPlan(t)

	// A saved plan deploys what it shows.
	add("1.2.0")
	if diff := cmp.Diff(both, w.plannedChanges(t)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	add("1.3.0")
	w.run(t, "apply", "-input=false", "tfplan")
	expect("1.2.0")
	w.run(t, "apply", "-auto-approve", "-input=false", "-refresh=false")
	expect("1.2.0")
	w.apply(t)
	expect("1.3.0")

	// The tag is deleted, and its content is not.
	charts.DeleteManifest("acme/db", "1.3.0")
	w.expectEmptyPlan(t)

	charts.Break("/v2/acme/db/tags/list", charttest.Truncate)
	if output := unwrapped(w.expectEmptyPlan(t)); !strings.Contains(output, "Cannot check for new chart versions of db") {
		t.Errorf("no warning:\n%s", output)
	}
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// The same for charts that fleet.yaml files name: those with a constraint move, and the chart with
// a version stays.
func TestAccChartsOfFleetYAMLFollow(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	charts := charttest.New(t, charttest.Options{})
	add := func(version string) {
		for _, name := range []string{"web", "fixed"} {
			charts.AddChart(chartOf(name, version))
		}
		charts.PushChart("acme/db", chartOf("db", version))
	}
	add("1.0.0")
	folder := func(name, helm string) {
		w.write(t, "repo/"+name+"/fleet.yaml", "name: "+name+"\ndefaultNamespace: "+s.namespace+"\nhelm: {"+helm+"}\n")
	}
	folder("web", "repo: "+charts.RepositoryURL()+", chart: web, version: ~1")
	folder("fixed", "repo: "+charts.RepositoryURL()+", chart: fixed, version: 1.0.0")
	folder("db", "chart: "+charts.RegistryURL("acme/db")+", version: ^1.0.0")
	configure := func(follow string) {
		t.Helper()
		repository := strings.Replace(w.repository(), "{\n", "{\n  follow_charts = \""+follow+"\"\n", 1)
		w.configure(t, s.provider(fmt.Sprintf("  registries = { %q = { plain_http = true }, %q = {} }\n", charts.RegistryURL("acme"), charts.RepositoryURL()), on), repository, target("", "fleet_gitrepo.all.bundles"))
	}
	expect := func(version string) {
		t.Helper()
		for name, want := range map[string]string{"web": version, "db": version, "fixed": "1.0.0"} {
			if got := s.value(t, 0, name); got != want+" default" {
				t.Errorf("%s is %q, want version %s", name, got, want)
			}
		}
	}
	configure("pinned")
	w.apply(t)
	add("1.1.0")
	add("2.0.0")
	w.expectEmptyPlan(t)

	configure("constraint")
	w.apply(t)
	if diff := cmp.Diff([]string{"~ a/db", "~ a/web"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	add("1.2.0")
	w.run(t, "apply", "-input=false", "tfplan")
	expect("1.1.0")

	// One registry cannot be listed: its chart stays, and the other moves.
	charts.Break("/v2/acme/db/tags/list", charttest.Truncate)
	if output := unwrapped(w.run(t, "plan", "-input=false", "-out=tfplan")); !strings.Contains(output, "Cannot check for new chart versions of all") || !strings.Contains(output, `~ "a/web"`) || strings.Contains(output, `~ "a/db"`) {
		t.Errorf("want a warning about db, and web to move:\n%s", output)
	}
	w.run(t, "apply", "-input=false", "tfplan")
	if web, db := s.value(t, 0, "web"), s.value(t, 0, "db"); web != "1.2.0 default" || db != "1.1.0 default" {
		t.Errorf("web is %q and db %q, want 1.2.0 and 1.1.0", web, db)
	}
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// The versions of a chart show which are newer than the deployed one.
func TestAccChartVersions(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	charts := charttest.New(t, charttest.Options{})
	for _, version := range []string{"1.0.0", "1.10.0", "2.0.0", "3.0.0-rc.1"} {
		charts.AddChart(chartOf("web", version))
	}
	configure := func(version string) {
		t.Helper()
		w.configure(t, "provider \"fleet\" {\n  owner = \"acc\"\n}\n", fmt.Sprintf(`
data "fleet_chart_versions" "web" {
  repo    = %q
  name    = "web"
  version = %q
}
output "found" {
  value = "${coalesce(data.fleet_chart_versions.web.allowed, "none")} ${data.fleet_chart_versions.web.newest} ${join(",", data.fleet_chart_versions.web.versions)}"
}
`, charts.RepositoryURL(), version))
	}
	for version, want := range map[string]string{
		"~1": "1.10.0 2.0.0 3.0.0-rc.1,2.0.0,1.10.0,1.0.0",
		"~7": "none 2.0.0 3.0.0-rc.1,2.0.0,1.10.0,1.0.0",
	} {
		configure(version)
		w.apply(t)
		if got := strings.TrimSpace(w.run(t, "output", "-raw", "found")); got != want {
			t.Errorf("for %s it is %q, want %q", version, got, want)
		}
	}
	configure("newest")
	w.fail(t, []string{"plan"}, "Invalid constraint", "neither a version nor a range")
	charts.Break("/charts/index.yaml", charttest.Corrupt)
	configure("~1")
	w.fail(t, []string{"plan"}, "Cannot list the versions of the chart")
}
