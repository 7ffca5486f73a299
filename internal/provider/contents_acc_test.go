package provider_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// appsRepository is a git repository with the bundles "db" and "web" below apps/. One path has a
// space.
type appsRepository struct {
	server *gittest.Server
	site   *fixture
}

func (r appsRepository) push(t *testing.T, db string) {
	t.Helper()
	options := func(name string) string { return "name: " + name + "\ndefaultNamespace: " + r.site.namespace + "\n" }
	_, err := r.server.Commit(t.Context(), "fleet", "main", "Value "+db, map[string]string{
		"apps/db/fleet.yaml": options("db"), "apps/db/cm.yaml": configMap("db", db),
		"apps/my web/fleet.yaml": options("web"), "apps/my web/cm.yaml": configMap("web", "x"),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (r appsRepository) block(kind string) string {
	return fmt.Sprintf("%s \"fleet_gitrepo\" \"apps\" {\n  name = \"apps\"\n  repo = %q\n  branch = \"main\"\n}\n", kind, r.server.URL("fleet"))
}

// linesWith returns the lines of a plan that contain text, without the spaces that align them.
func linesWith(plan, text string) []string {
	var found []string
	for line := range strings.Lines(plan) {
		if line = strings.Join(strings.Fields(line), " "); strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// A plan shows one line for the bundles of each resource, and one for each bundle that changes.
func TestAccContents(t *testing.T) {
	t.Parallel()
	// The numbers of lines in the plan of a change that are about bundles and about contents.
	// Terraform shows what a data source reads only in outputs.
	tests := map[string]struct{ bundles, contents int }{"resource": {2, 2}, "data": {1, 1}}
	for kind, shown := range tests {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
			repo := appsRepository{server: gittest.New(t, gittest.Options{}), site: s}
			address := strings.TrimPrefix(kind+".", "resource.") + "fleet_gitrepo.apps"
			// The target gets some of the bundles. contents is used wherever Terraform refuses a
			// sensitive value.
			config := []string{
				s.provider("", on), repo.block(kind), s.bundle("banner", "x"),
				target("", fmt.Sprintf("{ for name, bundle in %s.bundles : name => bundle if bundle.path == \"apps/db\" }", address), "fleet_bundle.banner.bundles"),
				fmt.Sprintf("resource \"terraform_data\" \"each\" {\n  for_each = %s.contents\n  input = split(\" \", each.value)[1]\n}\n", address),
				fmt.Sprintf("output \"contents\" {\n  value = %s.contents\n}\n", address),
			}
			repo.push(t, "first")
			w.configure(t, config...)
			plan := w.run(t, "plan", "-input=false")
			want := []string{"+ bundles = (sensitive value)", "+ bundles = (sensitive value)"}
			if kind == "resource" {
				want = append(want, "+ bundles = (sensitive value)")
			}
			if diff := cmp.Diff(want, linesWith(plan, "bundles = ")); diff != "" {
				t.Errorf("bundles of the first plan (-want +got):\n%s\n%s", diff, plan)
			}
			w.apply(t)
			s.expectReleases(t, 0, "banner", "db")
			before := w.contentsOutput(t)
			expectContent(t, before, "db", `^db-\S+ apps/db [0-9a-f]{8}$`)
			expectContent(t, before, "web", `^web-\S+ apps/my%20web [0-9a-f]{8}$`)

			repo.push(t, "second")
			plan = w.run(t, "plan", "-input=false", "-out=tfplan")
			for text, want := range map[string]int{
				"bundles =": shown.bundles, before["db"] + "\" -> \"db-": shown.contents, before["web"]: 0, "descriptor": 0,
			} {
				if lines := linesWith(plan, text); len(lines) != want {
					t.Errorf("%d lines contain %q, want %d:\n%s", len(lines), text, want, plan)
				}
			}
			w.run(t, "apply", "-input=false", "tfplan")
			after := w.contentsOutput(t)
			if after["db"] == before["db"] || after["web"] != before["web"] {
				t.Errorf("contents were %v and are %v", before, after)
			}
			w.expectEmptyPlan(t)

			w.configure(t, append(config, fmt.Sprintf("resource \"terraform_data\" \"wrong\" {\n  for_each = %s.bundles\n}\n", address))...)
			w.fail(t, []string{"plan", "-input=false"}, "Sensitive values, or values derived from sensitive values, cannot be used as for_each arguments")
			w.configure(t, config...)
			w.run(t, "destroy", "-auto-approve")
		})
	}
}

// contentsOutput reads the output "contents".
func (w *workspace) contentsOutput(t *testing.T) map[string]string {
	t.Helper()
	var contents map[string]string
	decode(t, []byte(w.run(t, "output", "-json", "contents")), &contents)
	return contents
}

func expectContent(t *testing.T, contents map[string]string, name, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(contents[name]) {
		t.Errorf("the content of %s is %q, want %s", name, contents[name], pattern)
	}
}

// One target for each bundle: contents are known in the first plan.
func TestAccTargetForEachBundle(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	repo := appsRepository{server: gittest.New(t, gittest.Options{}), site: s}
	repo.push(t, "first")
	w.configure(t, s.provider("", on), repo.block("resource"), `
resource "fleet_cluster_target" "each" {
  for_each = fleet_gitrepo.apps.contents
  name     = each.key
  bundles  = [{ (each.key) = fleet_gitrepo.apps.bundles[each.key] }]
  targets  = [{ cluster_selector = { match_labels = { on = "yes" } } }]
}
`)
	w.apply(t)
	s.expectReleases(t, 0, "db", "web")
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// A state of an earlier version has no contents, and only the descriptors of bundles are
// sensitive there. A refresh adds contents; without one, a plan adds them and nothing else. Either
// way Terraform updates the target once, to store that all of its bundles are sensitive.
func TestAccStateWithoutContents(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	repo := appsRepository{server: gittest.New(t, gittest.Options{}), site: s}
	repo.push(t, "first")
	w.configure(t, s.provider("", on), repo.block("resource"), s.bundle("banner", "x"), target("", "fleet_gitrepo.apps.bundles", "fleet_bundle.banner.bundles"))
	w.apply(t)
	releases := s.releases(t, 0)
	earlier := withoutContents(t, w.storedState(t))
	const updated = `~ resource "fleet_cluster_target" "all" {`
	tests := map[string][]string{
		"-refresh=true": {updated},
		"-refresh=false": {
			`~ resource "fleet_bundle" "banner" {`, "+ contents = {", `+ "banner" = "banner-`, updated,
			`~ resource "fleet_gitrepo" "apps" {`, "+ contents = {", `+ "db" = "db-`, `+ "web" = "web-`,
		},
	}
	for refresh, want := range tests {
		w.write(t, "terraform.tfstate", earlier)
		plan := w.run(t, "plan", "-input=false", refresh)
		_, actions, _ := strings.Cut(plan, "will perform the following actions")
		var changes []string
		for _, line := range linesWith(actions, "") {
			if sign, _, _ := strings.Cut(line, " "); sign == "+" || sign == "~" || sign == "-" {
				changes = append(changes, line)
			}
		}
		if !slices.EqualFunc(want, changes, func(want, line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("%s: the plan changes %q, want %q:\n%s", refresh, changes, want, plan)
		}
		w.run(t, "apply", "-auto-approve", "-input=false", refresh)
		if !strings.Contains(string(w.storedState(t)), "apps/my%20web") {
			t.Errorf("%s: the state has no contents:\n%s", refresh, w.storedState(t))
		}
		w.expectEmptyPlan(t)
		if diff := cmp.Diff(releases, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
			t.Errorf("%s: releases (-before +after):\n%s", refresh, diff)
		}
	}
	w.run(t, "destroy", "-auto-approve")
}

// withoutContents changes a state to what an earlier version of the provider stored.
func withoutContents(t *testing.T, state []byte) string {
	t.Helper()
	var document map[string]any
	decode(t, state, &document)
	removed := 0
	for _, resource := range document["resources"].([]any) { //nolint:forcetypeassert // a panic fails the test
		for _, instance := range resource.(map[string]any)["instances"].([]any) { //nolint:forcetypeassert // the same
			fields := instance.(map[string]any)                 //nolint:forcetypeassert // the same
			attributes := fields["attributes"].(map[string]any) //nolint:forcetypeassert // the same
			if _, has := attributes["contents"]; has {
				removed++
			}
			delete(attributes, "contents")
			fields["sensitive_attributes"] = descriptorPaths(attributes["bundles"])
		}
	}
	if removed != 2 {
		t.Fatalf("%d resources have contents, want 2:\n%s", removed, state)
	}
	document["serial"] = document["serial"].(float64) + 1 //nolint:forcetypeassert // a panic fails the test
	out, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// descriptorPaths are the paths of the descriptors, which earlier versions stored as the only
// sensitive parts of bundles.
func descriptorPaths(bundles any) []any {
	attribute := func(name string) map[string]any { return map[string]any{"type": "get_attr", "value": name} }
	index := func(kind string, value any) map[string]any {
		return map[string]any{"type": "index", "value": map[string]any{"type": kind, "value": value}}
	}
	paths := []any{}
	of := func(elements map[string]any, at ...any) {
		for name := range elements {
			path := append([]any{attribute("bundles")}, at...)
			paths = append(paths, append(path, index("string", name), attribute("descriptor")))
		}
	}
	switch bundles := bundles.(type) {
	case map[string]any:
		of(bundles)
	case []any:
		for i, elements := range bundles {
			of(elements.(map[string]any), index("number", i)) //nolint:forcetypeassert // a panic fails the test
		}
	}
	return paths
}
