package acceptance_test

import (
	"fmt"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// Submodules are read as in Fleet, by a fleet_gitrepo and by the git of a fleet_bundle, unless
// they are switched off.
func TestAccSubmodules(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	server := gittest.New(t, gittest.Options{})
	library, err := server.Commit(t.Context(), "library", "main", "Library", map[string]string{"library.yaml": configMap("library", "of the submodule")})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		files := map[string]string{name + ".yaml": configMap(name, "own")}
		if name == "one" {
			files["fleet.yaml"] = "name: one\ndefaultNamespace: " + s.namespace + "\n"
		}
		if _, err := server.Commit(t.Context(), name, "main", "Begin", files); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"one", "two"} {
		if _, err = server.Submodule(t.Context(), name, "main", "library", "../library", library); err != nil {
			t.Fatal(err)
		}
	}
	configure := func(one, two string) {
		t.Helper()
		w.configure(t, s.provider(fmt.Sprintf("  git = { %q = {} }\n", server.URL("")), on), fmt.Sprintf(`
resource "fleet_gitrepo" "one" {
  name   = "one"
  repo   = %q
  branch = "main"
  %s
}
resource "fleet_bundle" "two" {
  name              = "two"
  git               = { repo = %q, revision = "main"%s }
  default_namespace = %q
}
`, server.URL("one"), one, server.URL("two"), two, s.namespace), target("", "fleet_gitrepo.one.bundles", "fleet_bundle.two.bundles"))
	}
	expect := func(identity string) {
		t.Helper()
		w.apply(t)
		if got := s.value(t, 0, "one") + s.value(t, 0, "two") + s.value(t, 0, "library"); got != "ownownof the submodule" {
			t.Errorf("the objects hold %q", got)
		}
		if found := s.configMapOf(t, "library"); found.Annotations["meta.helm.sh/release-name"] != identity {
			t.Errorf("the object of the submodule is of release %q, want %q", found.Annotations["meta.helm.sh/release-name"], identity)
		}
		w.expectEmptyPlan(t)
	}
	configure("", ", submodules = false")
	expect("one")
	configure("submodules = false", ", submodules = false")
	w.apply(t)
	configure("submodules = false", "")
	expect("two")
	w.run(t, "destroy", "-auto-approve")
}
