package acceptance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A replacement is created without the private state of its predecessor, and it is planned in the
// same way.
func TestAccReplacementIsPlannedAsItIsMade(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	tests := map[string]func(t *testing.T, s *fixture) (config []string, replace string){
		"a gitrepo that follows a branch": func(t *testing.T, s *fixture) ([]string, string) {
			t.Helper()
			git := gittest.New(t, gittest.Options{})
			if _, err := git.Commit(t.Context(), "fleet", "main", "First", map[string]string{"cm.yaml": configMap("one", "x")}); err != nil {
				t.Fatal(err)
			}
			return []string{
				fmt.Sprintf("resource \"fleet_gitrepo\" \"one\" {\n  name = \"one\"\n  repo = %q\n  branch = \"main\"\n  target_namespace = %q\n}\n", git.URL("fleet"), s.namespace),
				target("", "fleet_gitrepo.one.bundles"),
			}, "fleet_gitrepo.one"
		},
		"a target with values from the cluster": func(t *testing.T, s *fixture) ([]string, string) {
			t.Helper()
			s.setSecret(t, 0, "swordfish")
			return []string{s.valuesFrom("default_namespace", "key: {{ .Values.word }}"), target("", "fleet_bundle.app.bundles")}, "fleet_cluster_target.all"
		},
		"a target with hooks alone, an ordinary release and values from the cluster": func(t *testing.T, s *fixture) ([]string, string) {
			t.Helper()
			s.setSecret(t, 0, "swordfish")
			hooks := s.bundleOf("hooks", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hooked\n  annotations: {helm.sh/hook: post-install}\n")
			all := target("diff = \"rendered\"", "fleet_bundle.one.bundles", "fleet_bundle.hooks.bundles", "fleet_bundle.app.bundles")
			return []string{hooks, s.bundle("one", "x"), s.valuesFrom("default_namespace", "key: {{ .Values.word }}"), all}, "fleet_cluster_target.all"
		},
		"a target": func(t *testing.T, s *fixture) ([]string, string) {
			t.Helper()
			return []string{s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}, "fleet_cluster_target.all"
		},
	}
	for name, configured := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s := newWorkspace(t), newFixture(t, env)
			config, replace := configured(t, s)
			w.configure(t, append([]string{s.provider("", on)}, config...)...)
			w.apply(t)
			before := s.releases(t, 0)
			output := unwrapped(w.run(t, "apply", "-auto-approve", "-replace="+replace))
			for _, wrong := range []string{"already exist", "cannot take over", "not in its state", "does not belong to this provider"} {
				if strings.Contains(output, wrong) {
					t.Errorf("the replacement says %q of its own releases:\n%s", wrong, output)
				}
			}
			w.expectEmptyPlan(t)
			if after := s.releases(t, 0); len(after) != len(before) {
				t.Errorf("releases were %v and are %v", before, after)
			}
			w.run(t, "destroy", "-auto-approve")
			s.expectReleases(t, 0)
		})
	}
}

// A tainted target is replaced. Releases that stay are not uninstalled, and all others are removed.
func TestAccTaintedTarget(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	tests := map[string]func(s, elsewhere *fixture, bundle, all string) (changedBundle, changedTarget string){
		"moved to another namespace": func(s, elsewhere *fixture, bundle, all string) (string, string) {
			return strings.Replace(bundle, s.namespace, elsewhere.namespace, 1), all
		},
		"renamed": func(_, _ *fixture, bundle, all string) (string, string) {
			return bundle, strings.Replace(all, `name = "all"`, `name = "renamed"`, 1)
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s, elsewhere := newWorkspace(t), newFixture(t, env), newFixture(t, env)
			bundle, all := s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")
			w.configure(t, s.provider("", on), bundle, all)
			w.apply(t)
			w.run(t, "taint", "fleet_cluster_target.all")
			bundle, all = change(s, elsewhere, bundle, all)
			w.configure(t, s.provider("", on), bundle, all)
			w.apply(t)
			w.expectEmptyPlan(t)
			if left := len(s.releases(t, 0)) + len(elsewhere.releases(t, 0)); left != 1 {
				t.Errorf("%d releases, want one", left)
			}
			w.run(t, "destroy", "-auto-approve")
			s.expectReleases(t, 0)
			elsewhere.expectReleases(t, 0)
		})
	}
}

// A replacement that could not be carried out does not prevent a later destroy from removing
// everything.
func TestAccDestroyAfterFailedReplacement(t *testing.T) {
	t.Parallel()
	env := testenv.New(t, 2)
	w, s := newWorkspace(t), newFixture(t, env)
	w.configure(t, s.provider("", on, on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	w.run(t, "taint", "fleet_cluster_target.all")
	stop(t, env.Cluster(1))
	w.configure(t, s.provider("", on, `on = "no"`), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	w.fail(t, []string{"apply", "-auto-approve"}, "b/one")
	start(t, env.Cluster(1))
	w.run(t, "destroy", "-auto-approve")
	for i := range 2 {
		s.expectReleases(t, i)
	}
}

// A target that is replaced while its bundle is paused keeps its release as it is, and continues
// with it afterwards.
func TestAccTaintedWhilePaused(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	bundle := func(value string, paused bool) string {
		return strings.Replace(s.bundle("one", value), "files = ", fmt.Sprintf("paused = %t\n  files = ", paused), 1)
	}
	w.configure(t, s.provider("", on, on), bundle("x", false), s.bundle("two", "x"), target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	w.apply(t)
	before := s.releases(t, 0)
	w.run(t, "taint", all)
	w.configure(t, s.provider("", on, on), bundle("y", true), s.bundle("two", "x"), target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	w.apply(t)
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("releases (-before +after):\n%s", diff)
	}
	w.expectEmptyPlan(t)
	w.configure(t, s.provider("", on, on), bundle("y", false), s.bundle("two", "x"), target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	w.apply(t)
	if got := s.value(t, 0, "one"); got != "y" {
		t.Errorf("the value is %q, want y", got)
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	for i := range 2 {
		s.expectNothing(t, i)
	}
}

// A cluster gets another name in the provider, at once or with both names for one apply: the
// release stays and moves to the new name.
func TestAccClusterRenamed(t *testing.T) {
	t.Parallel()
	tests := map[string][]map[string]string{
		"at once":                    {{"b": "yes"}},
		"with both names in between": {{"a": "no", "b": "yes"}, {"b": "yes"}},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
			configure := func(entries map[string]string) {
				var block strings.Builder
				for name, wanted := range entries {
					fmt.Fprintf(&block, "    %s = { config_path = %q, config_context = %q, labels = { on = %q } }\n", name, s.env.Kubeconfig(), s.env.Contexts()[0], wanted)
				}
				provider := fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = {\n%s  }\n}\n", s.namespace, block.String())
				w.configure(t, provider, s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
			}
			configure(map[string]string{"a": "yes"})
			w.apply(t)
			before := s.releases(t, 0)
			for _, entries := range steps {
				configure(entries)
				w.apply(t)
			}
			if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
				t.Errorf("releases (-before +after):\n%s", diff)
			}
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			s.expectReleases(t, 0)
		})
	}
}

// The content of a Secret is in no error and no state, in whichever way a chart fails with it.
func TestAccSecretsStayOutOfErrors(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for _, option := range []string{"default_namespace", "namespace"} {
		for _, secret := range []string{"swordfish", "84736251"} {
			t.Run(option+" "+secret, func(t *testing.T) {
				t.Parallel()
				w, s := newWorkspace(t), newFixture(t, env)
				s.setSecret(t, 0, secret)
				w.configure(t, s.provider("", on), s.valuesFrom(option, `key: {{ fail (printf "%v is no good" .Values.word) }}`), target("", "fleet_bundle.app.bundles"))
				output := w.fail(t, []string{"apply", "-auto-approve"}, "is no good")
				state, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(output, secret) || strings.Contains(string(state), secret) {
					t.Errorf("%q can be read in\n%s\n%s", secret, output, state)
				}
			})
		}
	}
}

// valuesFrom is a bundle whose value "word" is in the Secret "words".
func (s *fixture) valuesFrom(namespaceOption, data string) string {
	return fmt.Sprintf(`
resource "fleet_bundle" "app" {
  name = "app"
  %s = %q
  files = {
    "Chart.yaml"         = yamlencode({ apiVersion = "v2", name = "app", version = "1.0.0" })
    "templates/app.yaml" = %q
  }
  helm = {
    values      = yamlencode({ word = "unset" })
    values_from = [{ secret_key_ref = { name = "words", key = "app" } }]
  }
}
`, namespaceOption, s.namespace, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  "+data+"\n")
}

// A null where a cluster or a path should be is an error, not a crash.
func TestAccNulls(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.configure(t, "provider \"fleet\" {\n  owner = \"o\"\n  clusters = { z = null }\n}\ndata \"fleet_gitrepo\" \"a\" {\n  name = \"a\"\n  directory = \".\"\n}\n")
	w.fail(t, []string{"plan"}, "Cluster z is null")
	w.configure(t, "provider \"fleet\" {\n  owner = \"o\"\n}\nresource \"fleet_gitrepo\" \"a\" {\n  name = \"a\"\n  directory = \".\"\n  paths = [null]\n}\n")
	w.fail(t, []string{"plan"}, "Null in a list")
}

// Changes that a cluster makes to objects are no drift after a target was replaced because one of
// its deployments failed in the create.
func TestAccPrunedFieldsAreNoDriftAfterAFailedCreate(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	widgets := s.defineWidgets(t, 1)
	web := s.bundleOf("web", "apiVersion: "+widgets.Group+"/v1\nkind: Widget\nmetadata: {name: web}\nspec: {size: 3, pruned: by the server}\n")
	configure := func(port string) {
		other := s.bundleOf("other", "apiVersion: v1\nkind: Service\nmetadata: {name: other}\nspec: {ports: [{port: "+port+"}]}\n")
		w.configure(t, s.provider("", on), web, other, target("", "fleet_bundle.web.bundles", "fleet_bundle.other.bundles"))
	}
	configure("0")
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "spec.ports[0].port")
	before := s.releases(t, 0)["web"]

	configure("80")
	w.apply(t)
	w.expectEmptyPlan(t)
	w.run(t, "apply", "-auto-approve", "-replace=fleet_cluster_target.all")
	w.expectEmptyPlan(t)
	if after := s.releases(t, 0)["web"]; after != before {
		t.Errorf("release web was %v and is %v", before, after)
	}
}
