package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// secretVariable is a sensitive variable, which nothing in a plan may show.
func secretVariable(value string) string {
	return fmt.Sprintf("variable \"secret\" {\n  sensitive = true\n  default = %q\n}\n", value)
}

// Without the attribute a plan shows what changes inside of objects, once for all clusters, and
// reads only the records of changed releases. If there is nothing to compare, it shows nothing.
func TestAccDiffIsAutoByDefault(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	git := gittest.New(t, gittest.Options{})
	commit := func(image string, port int) {
		t.Helper()
		if _, err := git.Commit(t.Context(), "shop", "main", image, map[string]string{
			"web/fleet.yaml":         "defaultNamespace: " + w.namespace + "\nhelm:\n  values:\n    word: ${ .ClusterValues.word }\n",
			"web/Chart.yaml":         "apiVersion: v2\nname: web\nversion: 1.0.0\n",
			"web/values.yaml":        fmt.Sprintf("image: %s\nport: %d\n", image, port),
			"web/templates/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  image: {{ .Values.image }}\n  word: {{ .Values.word }}\n",
			"web/templates/service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  clusterIP: None\n" +
				"  ports: [{port: {{ .Values.port }}}]\n",
		}); err != nil {
			t.Fatal(err)
		}
	}
	configure := func(secret, extra string) {
		t.Helper()
		clusters := strings.ReplaceAll(w.clusters(), "labels = {", "template_values = yamlencode({ word = var.secret }), labels = {")
		w.configure(t, clusters, secretVariable(secret), fmt.Sprintf("resource \"fleet_gitrepo\" \"shop\" {\n  name = \"shop\"\n  repo = %q\n  branch = \"main\"\n}\n", git.URL("shop")),
			target(extra, "fleet_gitrepo.shop.bundles"))
	}
	plan := func(args ...string) string { return w.run(t, append([]string{"plan", "-input=false"}, args...)...) }
	expectQuiet := func(output string) {
		t.Helper()
		if strings.Contains(output, diffTitle) || strings.Contains(output, "ot compared") {
			t.Errorf("the plan shows a diff:\n%s", output)
		}
	}

	commit("web:1.0", 80)
	configure("swordfish", "")
	expectQuiet(plan())
	w.apply(t)
	expectQuiet(w.expectEmptyPlan(t))

	w.watch()
	plan()
	unchanged := w.records
	commit("web:1.1", 81)
	w.watch()
	output := plan()
	if want := map[int]int{0: unchanged[0] + 1, 1: unchanged[1] + 1}; cmp.Diff(want, w.records) != "" {
		t.Errorf("planning read %v records, want %v", w.records, want)
	}
	want := `shop-web on a, b: objects ~2
    ~ ConfigMap/NS/web: data
    - image: web:1.0
    + image: web:1.1
    ~ Service/NS/web: spec.ports
    - - port: 80
    + - port: 81
`
	if want = strings.ReplaceAll(want, "NS", w.namespace); strings.Count(output, want) != 1 {
		t.Errorf("the plan does not show once\n%s\n%s", want, output)
	}
	expectNoSecret(t, output)

	configure("swordfish", `diff = "summary"`)
	expectQuiet(plan())
	configure("swordfish", "")

	// No cluster is read, or no cluster responds.
	expectQuiet(plan("-refresh=false"))
	for i, proxy := range w.proxies[1:] {
		if err := proxy.Disturb(faulttest.Disturbance{Down: true}); err != nil {
			t.Fatal(i, err)
		}
	}
	output = plan()
	expectSays(t, output, "shop-web on a: objects ~2", "Not compared on b: the cluster does not respond.")
	if err := w.proxies[0].Disturb(faulttest.Disturbance{Down: true}); err != nil {
		t.Fatal(err)
	}
	expectQuiet(plan())
	for _, proxy := range w.proxies {
		if err := proxy.Disturb(faulttest.Disturbance{}); err != nil {
			t.Fatal(err)
		}
	}

	// Somebody edits an object. The plan shows what the apply sets again.
	w.apply(t)
	w.edit(t, 0, configMaps, "web", `{"data":{"image":"edited","word":"edited"}}`)
	output = plan()
	expectSays(t, output, "ConfigMap "+w.namespace+"/web differs at data.image, data.word", "shop-web on a: objects ~1",
		"~ ConfigMap/"+w.namespace+"/web: data - image: edited - word: edited + image: web:1.1 + word: (from HCL, changed)")
	expectNoSecret(t, output)

	// A text of the configuration changes. It was in no state.
	w.apply(t)
	configure("open sesame", "")
	output = plan()
	expectSays(t, output, "- word: (from HCL) + word: (from HCL, changed)")
	expectNoSecret(t, output)
	w.apply(t)
	expectQuiet(w.run(t, "plan", "-destroy", "-input=false"))
	w.run(t, "destroy", "-auto-approve")
	w.expectNothing(t, 0)
}

// Texts that a bundle has in HCL are masked wherever its chart puts them, also the former ones. Its
// chart, numbers and Secrets are shown as with "rendered".
func TestAccDiffMasksHCL(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	git := gittest.New(t, gittest.Options{})
	chart := func(t *testing.T, repo, image string) string {
		t.Helper()
		commit, err := git.Commit(t.Context(), repo, "main", image, map[string]string{
			"Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.0.0\n",
			"values.yaml": "image: " + image + "\nword: unset\n",
			"templates/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, annotations: {word: {{ .Values.word | upper }}}}\ndata:\n  image: {{ .Values.image }}\n" +
				"  url: https://user:{{ .Values.word }}@host\n  encoded: {{ .Values.word | b64enc }}\n",
		})
		if err != nil {
			t.Fatal(err)
		}
		return commit
	}
	ofChart := func(s *fixture, repo, commit, values string) string {
		return fmt.Sprintf("resource \"fleet_bundle\" \"web\" {\n  name = \"web\"\n  default_namespace = %q\n  git = { repo = %q, revision = %q }\n  %s\n}\n", s.namespace, git.URL(repo), commit, values)
	}
	ofFiles := func(s *fixture, port int) string {
		return s.bundleOf("web", fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {word: \"${var.secret}\"}}\nspec:\n  clusterIP: None\n  ports: [{port: %d}]\n", port))
	}
	const values = `helm = { values = yamlencode({ word = var.secret }) }`
	tests := map[string]struct {
		before, after func(t *testing.T, s *fixture) string
		says          []string
	}{
		"values": {
			before: func(t *testing.T, s *fixture) string {
				t.Helper()
				return ofChart(s, s.namespace, chart(t, s.namespace, "web:1.0"), values)
			},
			after: func(t *testing.T, s *fixture) string {
				t.Helper()
				return ofChart(s, s.namespace, chart(t, s.namespace, "web:1.1"), values)
			},
			says: []string{
				"- encoded: (from HCL) - image: web:1.0 - url: (from HCL) + encoded: (from HCL, changed) + image: web:1.1 + url: (from HCL, changed)",
				"- word: (from HCL) + word: (from HCL, changed)",
			},
		},
		"values that are removed": {
			before: func(t *testing.T, s *fixture) string {
				t.Helper()
				return ofChart(s, s.namespace, chart(t, s.namespace, "web:1.0"), values)
			},
			after: func(t *testing.T, s *fixture) string {
				t.Helper()
				return ofChart(s, s.namespace, chart(t, s.namespace, "web:1.0"), "")
			},
			says: []string{"- encoded: (from HCL) + encoded: dW5zZXQ= - url: (from HCL) + url: https://user:unset@host", "- word: (from HCL) + word: UNSET"},
		},
		"files": {
			before: func(_ *testing.T, s *fixture) string { return ofFiles(s, 80) },
			after:  func(_ *testing.T, s *fixture) string { return ofFiles(s, 81) },
			says:   []string{"- word: (from HCL) + word: (from HCL, changed)", "- - port: 80 + - port: 81"},
		},
		"files that become a chart": {
			before: func(_ *testing.T, s *fixture) string {
				return s.bundleOf("web", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  image: \"${var.secret}\"\n  extra: \"${var.secret}\"\n")
			},
			after: func(t *testing.T, s *fixture) string {
				t.Helper()
				return ofChart(s, s.namespace, chart(t, s.namespace, "web:1.0"), "")
			},
			says: []string{"- extra: (from HCL) - image: (from HCL)", "+ image: web:1.0"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			w.configure(t, s.provider("", on), secretVariable("swordfish"), test.before(t, s), target("", "fleet_bundle.web.bundles"))
			w.apply(t)
			w.configure(t, s.provider("", on), secretVariable("open sesame"), test.after(t, s), target("", "fleet_bundle.web.bundles"))
			output := w.run(t, "plan", "-input=false")
			expectSays(t, output, append(test.says, diffTitle)...)
			expectNoSecret(t, output)
			if _, warnings, _ := strings.Cut(strings.ToLower(output), "plan: "); strings.Contains(warnings, "c3dvcmrmaxno") || strings.Contains(warnings, "sword") {
				t.Errorf("a secret can be read:\n%s", output)
			}
			w.run(t, "destroy", "-auto-approve")
			s.expectNothing(t, 0)
		})
	}
}

// A chart that keeps the password that it has generated is compared with that password, and not
// with a new one.
func TestAccDiffKeepsPasswords(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	git := gittest.New(t, gittest.Options{})
	configure := func(image, random, extra string) {
		t.Helper()
		commit, err := git.Commit(t.Context(), "app", "main", image+random, map[string]string{
			"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
			"templates/secret.yaml": "{{- $found := lookup \"v1\" \"Secret\" .Release.Namespace \"app\" }}\napiVersion: v1\nkind: Secret\nmetadata: {name: app}\nstringData:\n" +
				"  password: {{ if $found }}{{ index $found.data \"password\" | b64dec }}{{ else }}{{ randAlpha 20 }}{{ end }}\n" + random,
			"templates/app.yaml": configMap("app", image),
		})
		if err != nil {
			t.Fatal(err)
		}
		w.configure(t, s.provider("", on), fmt.Sprintf("resource \"fleet_bundle\" \"app\" {\n  name = \"app\"\n  default_namespace = %q\n  git = { repo = %q, revision = %q }\n}\n",
			s.namespace, git.URL("app"), commit), target(extra, "fleet_bundle.app.bundles"))
	}
	configure("one", "", "")
	w.apply(t)

	secret := "Secret/" + s.namespace + "/app"
	for _, extra := range []string{"", `diff = "rendered"`} {
		configure("two", "", extra)
		output := w.run(t, "plan", "-input=false")
		expectSays(t, output, "app on a: objects ~1", "templates that look up objects find those of the release here", "- key: one + key: two")
		if _, diff, _ := strings.Cut(output, diffTitle); strings.Contains(diff, secret) {
			t.Errorf("the plan shows another password:\n%s", output)
		}
	}
	// This value changes in every rendering.
	configure("two", "  other: {{ randAlpha 20 }}\n", "")
	expectSays(t, w.run(t, "plan", "-input=false"), "app on a: objects ~2", "this is one of several possible results", secret, "+ other: (sensitive value)")
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
