package acceptance_test

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A plan finds mistakes that would fail, or be ignored, on each cluster: one object in two bundles, a
// kind that no cluster serves, and a misspelt field. It names their files and lines.
func TestAccPlanFindsMistakes(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	const one, two = "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"

	w.configure(t, s.provider("", on, on), s.bundleOf("one", configMap("shared", "x")), s.bundleOf("two", configMap("own", "x")+"---\n"+configMap("shared", "y")), target("", one, two))
	w.fail(t, []string{"plan", "-input=false"}, "Bundles one and two both contain ConfigMap/"+s.namespace+"/shared (one: m.yaml:2, two: m.yaml:9)", "a/two, b/two")

	mistyped := strings.Replace(configMap("typo", "x"), "kind: ConfigMap", "kind: ConfigMapp", 1)
	foreign := "---\napiVersion: none.example.com/v1\nkind: Widget\nmetadata: {name: w}\n"
	w.configure(t, s.provider("", on, on), s.bundleOf("one", mistyped+foreign), target("", one))
	w.fail(t, []string{"plan", "-input=false"},
		"m.yaml:2: ConfigMapp/"+s.namespace+"/typo: the cluster serves no kind ConfigMapp in API version v1", "a/one, b/one",
		"clusters do not serve some kinds", "m.yaml:9: Widget.none.example.com/"+s.namespace+"/w")

	misspelt := strings.Replace(configMap("typo", "x"), "\ndata:\n", "\nreplcias: 3\ndata:\n", 1)
	elsewhere := strings.Replace(s.bundleOf("one", misspelt), s.namespace, s.namespace+"-new", 1)
	w.configure(t, s.provider("", on, on), elsewhere, target("", one))
	expectSays(t, w.run(t, "plan", "-input=false"), "New namespaces:", "- a, b: "+s.namespace+"-new")
	w.configure(t, s.provider("", on, on), s.bundleOf("one", misspelt), target("", one))
	expectSays(t, w.run(t, "plan", "-input=false"), "objects have unknown fields", "m.yaml:5: ConfigMap typo: replcias (a/one, b/one)")
}
