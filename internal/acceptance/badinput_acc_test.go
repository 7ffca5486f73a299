package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// Each mistake is one clear diagnostic, and nothing changes on any cluster.
//
//nolint:tparallel // the rows share one folder, in which one deployment is there before
func TestAccBadInput(t *testing.T) {
	t.Parallel()
	git := gittest.New(t, gittest.Options{})
	closed := gittest.New(t, gittest.Options{Username: "user", Password: "right"})
	commit := func(repo string, files map[string]string) string {
		if _, err := git.Commit(t.Context(), repo, "main", "Content", files); err != nil {
			t.Fatal(err)
		}
		return git.URL(repo)
	}
	if _, err := closed.Commit(t.Context(), "closed", "main", "Content", map[string]string{"cm.yaml": configMap("one", "y")}); err != nil {
		t.Fatal(err)
	}
	repo := func(url, extra string) string {
		return fmt.Sprintf("resource \"fleet_gitrepo\" \"one\" {\n  name = \"one\"\n  repo = %q\n%s\n}\n", url, extra)
	}
	good := commit("good", map[string]string{"cm.yaml": configMap("one", "y")})
	broken := configMap("one", "y") + "immutable: maybe\n"

	tests := map[string]struct {
		git     string // entries of the provider's git
		cluster string // a further entry of the provider's clusters
		bundles string // makes fleet_gitrepo.one or fleet_bundle.one
		of      string // the bundles of the target
		rule    string // a further rule
		want    []string
	}{
		"fleet.yaml that is no YAML": {
			bundles: repo(commit("no-yaml", map[string]string{"app/fleet.yaml": "name: one\nhelm: [\n", "app/cm.yaml": configMap("one", "y")}), ""),
			want:    []string{"Cannot build the bundles of one", "app/fleet.yaml:"},
		},
		"unknown key": {
			bundles: repo(commit("unknown-key", map[string]string{"app/fleet.yaml": "name: one\nhelm:\n  relaseName: x\n", "app/cm.yaml": configMap("one", "y")}), ""),
			want:    []string{"app/fleet.yaml:3", "relaseName"},
		},
		"a path that matches nothing": {
			bundles: repo(good, `paths = ["nowhere/*"]`),
			want:    []string{"Cannot build the bundles of one", "nowhere/*"},
		},
		"a repository that does not exist": {
			bundles: repo(git.URL("missing"), ""),
			want:    []string{"Cannot build the bundles of one", git.URL("missing")},
		},
		"wrong credentials": {
			git:     fmt.Sprintf("%q = { username = \"user\", password = \"wrong-password\" }", closed.URL("")),
			bundles: repo(closed.URL("closed"), ""),
			want:    []string{"Cannot build the bundles of one", closed.URL("closed")},
		},
		"credentials without a scheme": {
			git:     "\"github.com/acme\" = { token = \"wrong-password\" }",
			bundles: repo(good, ""),
			want:    []string{"Credentials that cover no repository", "such as", "https://github.com/acme"},
		},
		"a duration that is none": {
			cluster: `z = { host = "https://127.0.0.1:1", token = "wrong-password", request_timeout = "soon" }`,
			bundles: repo(good, ""),
			want:    []string{"Invalid duration", `This is about clusters["z"].request_timeout`},
		},
		"an entry that is an expression": {
			cluster: `(format("%s", "z")) = { host = "https://127.0.0.1:1", token = "wrong-password", request_timeout = "soon" }`,
			bundles: repo(good, ""),
			want:    []string{"Invalid duration", `This is about clusters["z"].request_timeout`},
		},
		"a revision that does not exist": {
			bundles: repo(good, `revision = "v9"`),
			want:    []string{"Cannot build the bundles of one", "v9"},
		},
		"a branch that does not exist": {
			bundles: repo(good, `branch = "nope"`),
			want:    []string{"Cannot build the bundles of one", "nope"},
		},
		"two bundles of one name in a repository": {
			bundles: repo(commit("twice", map[string]string{
				"a/fleet.yaml": "name: one\n", "a/cm.yaml": configMap("one", "y"), "b/fleet.yaml": "name: one\n", "b/cm.yaml": configMap("one", "z"),
			}), ""),
			want: []string{"Cannot build the bundles of one", "a", "b"},
		},
		"two bundles of one name in a target": {
			bundles: repo(good, ""),
			of:      "fleet_gitrepo.one.bundles, fleet_gitrepo.one.bundles",
			want:    []string{"two bundles have the name one"},
		},
		"a rule naming an unknown cluster": {
			bundles: repo(good, ""),
			rule:    `{ cluster_name = "nowhere" }`,
			want:    []string{"nowhere"},
		},
		"a rule naming an unknown group": {
			bundles: repo(good, ""),
			rule:    `{ cluster_group = "nogroup" }`,
			want:    []string{"nogroup"},
		},
		"an invalid selector": {
			bundles: repo(good, ""),
			rule:    `{ cluster_selector = { match_expressions = [{ key = "env", operator = "Like", values = ["x"] }] } }`,
			want:    []string{"Like"},
		},
		"a chart that does not render": {
			bundles: repo(commit("no-render", map[string]string{
				"Chart.yaml": "apiVersion: v2\nname: one\nversion: 1.0.0\n", "templates/cm.yaml": "{{ required \"a color is needed\" .Values.color }}",
			}), ""),
			want: []string{"cannot plan", "a color is needed"},
		},
		"a context that does not exist": {
			cluster: fmt.Sprintf("z = { config_path = %q, config_context = \"nocontext\", labels = { on = \"yes\" } }", "KUBECONFIG"),
			bundles: repo(good, ""),
			want:    []string{"nocontext", "cluster z"},
		},
		"a context under a misspelt name": {
			cluster: fmt.Sprintf("z = { config_path = %q, context = \"x\", labels = { on = \"yes\" } }", "KUBECONFIG"),
			bundles: repo(good, ""),
			want:    []string{"config_context is missing", "cluster z"},
		},
		"a connection under a misspelt name": {
			cluster: fmt.Sprintf("z = { path = %q, labels = { on = \"yes\" } }", "KUBECONFIG"),
			bundles: repo(good, ""),
			want:    []string{"from_environment = true", "cluster z"},
		},
		"a selector under a misspelt name": {
			bundles: repo(good, ""),
			rule:    `{ cluster_selector = { matchLabels = { on = "yes" } } }`,
			want:    []string{"targets[1].cluster_selector has no criterion", "all = true"},
		},
		"an object that the API server rejects": {
			bundles: repo(commit("rejected", map[string]string{"cm.yaml": broken}), "target_namespace = \"NAMESPACE\""),
			want:    []string{"immutable"},
		},
	}
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	// One deployment exists before the test, and must not change.
	w.configure(t, s.provider("", on), s.bundle("other", "x"), target("", "fleet_bundle.other.bundles"))
	w.apply(t)
	before, state := s.releases(t, 0), string(w.storedState(t))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w.write(t, "terraform.tfstate", state) // It contains nothing from another row.
			provider := s.provider("git = {\n"+test.git+"\n}\n", on, on)
			if test.cluster != "" {
				entry := strings.ReplaceAll(test.cluster, "KUBECONFIG", s.env.Kubeconfig())
				provider = strings.Replace(provider, "clusters = {", "clusters = {\n"+entry, 1)
			}
			of := test.of
			if of == "" {
				of = "fleet_gitrepo.one.bundles"
			}
			second := fmt.Sprintf("resource \"fleet_cluster_target\" \"second\" {\n  name = \"second\"\n  bundles = [%s]\n  targets = [{ cluster_selector = { match_labels = { on = \"yes\" } } }, %s]\n}\n", of, test.rule)
			w.configure(t, provider, s.bundle("other", "x"), target("", "fleet_bundle.other.bundles"), strings.ReplaceAll(test.bundles, "NAMESPACE", s.namespace), second)
			// The existing target may be planned for the second cluster; only the
			// mistake is applied here.
			output := w.fail(t, []string{"apply", "-auto-approve", "-input=false", "-target=fleet_cluster_target.second"}, test.want...)
			if strings.Contains(output, "wrong-password") {
				t.Error("the output shows a password")
			}
			if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
				t.Errorf("releases changed (-before +after):\n%s", diff)
			}
			s.expectReleases(t, 1)
			if got := s.value(t, 0, "other"); got != "x" {
				t.Errorf("an object changed: %q", got)
			}
		})
	}
	w.configure(t, s.provider("", on), s.bundle("other", "x"), target("", "fleet_bundle.other.bundles"))
	w.write(t, "terraform.tfstate", state)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
