package acceptance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A target that is in no state any more is imported by its name. Nothing is deployed again, and
// deployments that are not wanted any more show as to be removed.
func TestAccImport(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	block := "import {\n  to = fleet_cluster_target.all\n  id = \"all\"\n}\n"
	for name, again := range map[string]func(t *testing.T, w *workspace, config []string){
		"by command": func(t *testing.T, w *workspace, config []string) {
			t.Helper()
			w.configure(t, config...)
			w.run(t, "import", "fleet_cluster_target.all", "all")
		},
		"by block": func(t *testing.T, w *workspace, config []string) {
			t.Helper()
			w.configure(t, append(config, block)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s := newWorkspace(t), newFixture(t, env)
			config := []string{s.provider("", on, on), s.bundle("one", "x"), s.bundle("two", "x"), target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles")}
			w.configure(t, config...)
			w.apply(t)
			before, objects := s.releases(t, 0), s.uids(t)
			known := w.objects(t)
			w.run(t, "state", "rm", "fleet_cluster_target.all")
			again(t, w, config)
			if changes := w.plannedChanges(t); len(changes) > 0 && name == "by command" {
				t.Errorf("deployments change: %q", changes)
			}
			w.apply(t)
			w.expectEmptyPlan(t)
			if diff := cmp.Diff(known, w.objects(t)); diff != "" {
				t.Errorf("objects (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
				t.Errorf("releases (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(objects, s.uids(t)); diff != "" {
				t.Errorf("objects on the cluster (-before +after):\n%s", diff)
			}
			w.configure(t, s.provider("", on, on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
			if diff := cmp.Diff([]string{"- a/two", "- b/two"}, w.plannedChanges(t)); diff != "" {
				t.Errorf("planned (-want +got):\n%s", diff)
			}
			w.run(t, "destroy", "-auto-approve")
			for i := range 2 {
				s.expectNothing(t, i)
			}
		})
	}
}

// A target moves to another workspace: it is removed from one state and imported into the other,
// and the import reports this. A second target of that name has left a release, which is imported
// as well.
func TestAccImportFromAnotherWorkspace(t *testing.T) {
	t.Parallel()
	s, former, w := newFixture(t, testenv.Shared(t)), newWorkspace(t), newWorkspace(t)
	bundles, both := s.bundle("one", "x")+s.bundle("two", "x"), target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles")
	former.configure(t, s.provider("", on), bundles, both)
	former.apply(t)
	former.run(t, "state", "rm", "fleet_cluster_target.all")
	former.configure(t, s.provider("", on), bundles, target("take_ownership = true", "fleet_bundle.one.bundles"))
	former.apply(t) // Another instance takes over one of the two.
	former.run(t, "state", "rm", "fleet_cluster_target.all")
	before := s.releases(t, 0)

	w.configure(t, s.provider("", on), bundles, both)
	output := w.run(t, "import", "fleet_cluster_target.all", "all")
	if !strings.Contains(unwrapped(output), "2 releases are imported") {
		t.Errorf("nobody is told:\n%s", output)
	}
	if changes := w.plannedChanges(t); len(changes) > 0 {
		t.Errorf("deployments change: %q", changes)
	}
	w.apply(t)
	w.expectEmptyPlan(t)
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("releases (-before +after):\n%s", diff)
	}
	w.configure(t, s.provider("", on), bundles, target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	s.expectReleases(t, 0, "one")
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// The import fails if a cluster cannot be read: a partial import would lose the other deployments.
func TestAccImportWantsAllClusters(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	away := strings.Replace(s.provider("", on, on), "  clusters = {\n", "  clusters = {\n    away = { host = \"https://127.0.0.1:1\", token = \"x\", labels = { on = \"no\" } }\n", 1)
	config := []string{s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
	w.configure(t, append(config, s.provider("", on, on))...)
	w.apply(t)
	w.run(t, "state", "rm", "fleet_cluster_target.all")
	w.configure(t, append(config, away)...)
	w.fail(t, []string{"import", "fleet_cluster_target.all", "all"}, "cannot read away", "Nothing was imported")
	state, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(state), "fleet_cluster_target") {
		t.Error("something was imported")
	}
	w.configure(t, append(config, s.provider("", on, on))...)
	w.fail(t, []string{"import", "fleet_cluster_target.all", "nobody"}, "There is no target nobody to import")
	w.fail(t, []string{"import", "fleet_bundle.one", "one"}, "There is nothing to import for fleet_bundle one")
	// An import can also name the clusters that respond.
	w.configure(t, append(config, away)...)
	w.fail(t, []string{"import", "fleet_cluster_target.all", "all/a,"}, "all/a,", "prod/eu-1,eu-2")
	w.fail(t, []string{"import", "fleet_cluster_target.all", "all/a,elsewhere"}, "elsewhere")
	w.run(t, "import", "fleet_cluster_target.all", "all/a,b")
	w.configure(t, append(config, s.provider("", on, on))...)
	w.run(t, "destroy", "-auto-approve")
	for i := range 2 {
		s.expectNothing(t, i)
	}
}
