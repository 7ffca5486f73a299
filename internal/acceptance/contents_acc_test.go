package acceptance_test

import (
	"fmt"
	"regexp"
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
			expectContent(t, before, "db", `^db apps/db [0-9a-f]{8}$`)
			expectContent(t, before, "web", `^web apps/my%20web [0-9a-f]{8}$`)

			repo.push(t, "second")
			plan = w.run(t, "plan", "-input=false", "-out=tfplan")
			for text, want := range map[string]int{
				"bundles =": shown.bundles, before["db"] + "\" -> \"db ": shown.contents, before["web"]: 0, "descriptor": 0,
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
