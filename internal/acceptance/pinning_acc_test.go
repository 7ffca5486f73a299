package acceptance_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// repository is a git repository with one bundle "one" in the namespace of a
// test.
type repository struct {
	server *gittest.Server
	site   *fixture
}

func (r repository) push(t *testing.T, value string) string {
	t.Helper()
	commit, err := r.server.Commit(t.Context(), "fleet", "main", "Value "+value, map[string]string{
		"fleet.yaml": "name: one\ndefaultNamespace: " + r.site.namespace + "\n", "cm.yaml": configMap("one", value),
	})
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

func (r repository) block(kind string) string {
	return fmt.Sprintf("%s \"fleet_gitrepo\" \"one\" {\n  name = \"one\"\n  repo = %q\n  branch = \"main\"\n}\n", kind, r.server.URL("fleet"))
}

// The apply of a saved plan does what the plan shows, although the branch has moved in between.
func TestAccSavedPlanIsPinned(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind, of string
	}{
		"created with the data source":            {kind: "data", of: "data.fleet_gitrepo.one.bundles"},
		"changed by the branch of a resource":     {kind: "resource", of: "fleet_gitrepo.one.bundles"},
		"changed by the branch of a data source":  {kind: "data", of: "data.fleet_gitrepo.one.bundles"},
		"created with the resource, branch stays": {kind: "resource", of: "fleet_gitrepo.one.bundles"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
			repo := repository{server: gittest.New(t, gittest.Options{AllowReachableSHA1InWant: true}), site: s}
			repo.push(t, "first")
			w.configure(t, s.provider("", on), repo.block(test.kind), target("", test.of))
			if strings.HasPrefix(name, "changed") {
				w.apply(t)
				repo.push(t, "second")
			}
			planned := "first"
			if strings.HasPrefix(name, "changed") {
				planned = "second"
			}
			w.run(t, "plan", "-out=tfplan", "-input=false")
			if !strings.HasSuffix(name, "stays") {
				repo.push(t, "third")
			}
			w.run(t, "apply", "-input=false", "tfplan")
			if got := s.value(t, 0, "one"); got != planned {
				t.Errorf("the cluster has the value %q, planned was %q", got, planned)
			}
			if !strings.HasSuffix(name, "stays") {
				if diff := cmp.Diff([]string{"~ a/one"}, w.plannedChanges(t)); diff != "" {
					t.Errorf("the next plan (-want +got):\n%s", diff)
				}
				w.run(t, "apply", "-input=false", "tfplan")
			}
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			s.expectNothing(t, 0)
		})
	}
}

// A commit that changes no bundle changes no plan, and the provider leaves no
// file behind.
func TestAccCommitWithoutChange(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	temporary, err := os.MkdirTemp("", "tmp") //nolint:usetesting // the path of a plugin's socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(temporary); err != nil {
			t.Error(err)
		}
	})
	w.env = append(w.env, "TMPDIR="+temporary)
	repo := repository{server: gittest.New(t, gittest.Options{}), site: s}
	first := repo.push(t, "first")
	w.configure(t, s.provider("", on), repo.block("resource"), target("", "fleet_gitrepo.one.bundles"))
	w.apply(t)
	if second := repo.push(t, "first"); second == first {
		t.Fatal("there is no second commit")
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	left, err := os.ReadDir(temporary)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		t.Errorf("%s is left in the temporary folder", entry.Name())
	}
}

// The data source shows the definitions of bundles.
func TestAccDefinitions(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	repo := repository{server: gittest.New(t, gittest.Options{}), site: s}
	repo.push(t, "first")
	w.configure(t, s.provider("", on), repo.block("data"), "output \"one\" { value = data.fleet_gitrepo.one.definitions[\"one\"] }\n")
	w.apply(t)
	var text string
	if err := json.Unmarshal([]byte(w.run(t, "output", "-json", "one")), &text); err != nil {
		t.Fatal(err)
	}
	var definition struct {
		Name             string            `json:"name"`
		DefaultNamespace string            `json:"defaultNamespace"`
		Resources        map[string]string `json:"resources"`
	}
	if err := json.Unmarshal([]byte(text), &definition); err != nil {
		t.Fatal(err)
	}
	if definition.Name != "one" || definition.DefaultNamespace != s.namespace || len(definition.Resources["cm.yaml"]) != 64 {
		t.Errorf("unexpected definition: %s", text)
	}
}
