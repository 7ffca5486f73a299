package acceptance_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// With a warm cache, a plan of an unchanged branch sends one request to the git server, for the
// commit of the branch. Each command is a process of its own.
func TestAccUnchangedBranchIsNotFetched(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	git := gittest.New(t, gittest.Options{})
	_, err := git.Commit(t.Context(), "fleet", "main", "First", map[string]string{
		"apps/one/fleet.yaml": "defaultNamespace: " + s.namespace + "\n", "apps/one/cm.yaml": configMap("one", "x"),
		"apps/two/fleet.yaml": "defaultNamespace: " + s.namespace + "\n", "apps/two/cm.yaml": configMap("two", "x"),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.configure(t, s.provider(fmt.Sprintf("  cache_dir = %q\n", filepath.Join(w.dir, "cache")), on),
		fmt.Sprintf("resource \"fleet_gitrepo\" \"fleet\" {\n  name = \"fleet\"\n  repo = %q\n  branch = \"main\"\n  paths = [\"apps\"]\n}\n", git.URL("fleet")),
		target("", "fleet_gitrepo.fleet.bundles"))
	w.write(t, "cache/.keep", "")
	w.apply(t)
	before := git.Requests()
	w.expectEmptyPlan(t)
	if requests := git.Requests() - before; requests != 1 {
		t.Errorf("%d requests, want the one that resolves the branch", requests)
	}
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
