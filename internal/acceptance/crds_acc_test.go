package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// gear is a definition in crds/ of a chart.
func (s *fixture) gear(name, shortName string) string {
	return fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %[1]ss.%[3]s.example.com}\nspec:\n"+
		"  group: %[3]s.example.com\n  scope: Namespaced\n  names: {kind: %[1]s, plural: %[1]ss, shortNames: [%[2]s]}\n"+
		"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n", name, shortName, s.namespace)
}

// gears is a bundle with definitions in crds/ and a resource of one of them.
func (s *fixture) gears(helm, kind string, definitions ...string) string {
	return fmt.Sprintf(`
resource "fleet_bundle" "gears" {
  name              = "gears"
  default_namespace = %q
  files = {
    "Chart.yaml"         = yamlencode({ apiVersion = "v2", name = "gears", version = "1.0.0" })
    "crds/gears.yaml"    = %q
    "templates/one.yaml" = %q
  }
  helm = { %s }
}
`, s.namespace, strings.Join(definitions, "---\n"), fmt.Sprintf("apiVersion: %s.example.com/v1\nkind: %s\nmetadata: {name: one}\n", s.namespace, kind), helm)
}

// shortName returns the short name of a live definition, "" if the definition does not exist.
func (s *fixture) shortName(t *testing.T, i int, name string) string {
	t.Helper()
	found, err := s.definition(t, i, name)
	if err != nil {
		return ""
	}
	names, _, err := unstructured.NestedStringSlice(found.Object, "spec", "names", "shortNames")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, ",")
}

func (s *fixture) definition(t *testing.T, i int, name string) (*unstructured.Unstructured, error) {
	t.Helper()
	resource := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	return s.dynamic(t, i).Resource(resource).Get(t.Context(), name+"s."+s.namespace+".example.com", metav1.GetOptions{})
}

// Helm creates definitions in crds/ with a release and never changes them. A plan reports those
// that Helm does not change. create_replace applies them, and skip applies none.
func TestAccCRDs(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	const summary = "custom resource definitions in crds/ of charts"
	group := "." + s.namespace + ".example.com"
	configure := func(target, helm, kind string, definitions ...string) {
		t.Helper()
		w.configure(t, s.provider("", on, on), s.gears(helm, kind, definitions...), targetOfGears(target))
	}
	expect := func(plan string, want ...string) {
		t.Helper()
		for _, line := range want {
			if !strings.Contains(plan, line) {
				t.Errorf("the plan lacks %q:\n%s", line, plan)
			}
		}
	}
	configure("", "", "wheel", s.gear("wheel", "whl"))
	if plan := w.run(t, "plan"); strings.Contains(plan, summary) {
		t.Errorf("the first plan reports definitions:\n%s", plan)
	}
	w.apply(t)
	w.expectEmptyPlan(t)

	// Another version and a new definition are reported and not applied.
	configure("", "", "wheel", s.gear("wheel", "wh"), s.gear("axle", "ax"))
	plan := w.run(t, "plan")
	expect(plan, summary, "Not created, because Helm creates definitions", "axles"+group+": a/gears, b/gears", "Not replaced, although", "wheels"+group+": a/gears, b/gears", `"create_replace"`)
	if n := strings.Count(plan, summary); n != 1 {
		t.Errorf("%d warnings:\n%s", n, plan)
	}
	w.apply(t)
	if got := s.shortName(t, 0, "wheel") + s.shortName(t, 0, "axle"); got != "whl" {
		t.Errorf("the definitions have the short names %q", got)
	}
	w.expectEmptyPlan(t)

	// The target sets create_replace. The same upgrade adds an object of the new kind.
	configure(`crds = "create_replace"`, "", "axle", s.gear("wheel", "wh"), s.gear("axle", "ax"))
	plan = w.run(t, "plan")
	expect(plan, "Created:", "axles"+group+": a/gears, b/gears", "Replaced, because the cluster", "wheels"+group+": a/gears, b/gears")
	if strings.Contains(plan, "Not replaced") {
		t.Errorf("the plan leaves definitions:\n%s", plan)
	}
	w.apply(t)
	for i := range 2 {
		if got := s.shortName(t, i, "wheel") + " " + s.shortName(t, i, "axle"); got != "wh ax" {
			t.Errorf("the definitions on cluster %d have the short names %q", i, got)
		}
	}
	w.expectEmptyPlan(t)

	// A definition that the chart no longer has stays, and one that is as wanted is not written.
	before, err := s.definition(t, 0, "axle")
	if err != nil {
		t.Fatal(err)
	}
	configure(`crds = "create"`, `crds = "create_replace", timeout_seconds = 100`, "axle", s.gear("axle", "ax"))
	if plan := w.run(t, "plan"); strings.Contains(plan, summary) {
		t.Errorf("the plan reports definitions that are as wanted:\n%s", plan)
	}
	w.apply(t)
	after, err := s.definition(t, 0, "axle")
	if err != nil || before.GetResourceVersion() != after.GetResourceVersion() || s.shortName(t, 0, "wheel") != "wh" {
		t.Errorf("definitions changed: %v, %v", after, err)
	}

	// No definition is applied, and none is reported.
	configure("", `crds = "skip"`, "axle", s.gear("axle", "axl"), s.gear("lever", "lv"))
	if plan := w.run(t, "plan"); strings.Contains(plan, summary) {
		t.Errorf("the plan reports definitions that are skipped:\n%s", plan)
	}
	w.apply(t)
	w.run(t, "destroy", "-auto-approve")
	configure("", `crds = "skip"`, "axle", s.gear("axle", "axl"), s.gear("lever", "lv"))
	w.apply(t)
	if got := s.shortName(t, 0, "axle") + s.shortName(t, 0, "lever"); got != "ax" {
		t.Errorf("the definitions have the short names %q", got)
	}
	w.run(t, "destroy", "-auto-approve")
}

// A definition that another release owns is not replaced.
func TestAccForeignCRDs(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	owner := s.bundleOf("owner", s.gear("wheel", "whl"))
	w.configure(t, s.provider("", on), owner, target("", "fleet_bundle.owner.bundles"))
	w.apply(t)
	w.configure(t, s.provider("", on), owner, s.gears(`crds = "create_replace"`, "wheel", s.gear("wheel", "wh")), target("", "fleet_bundle.owner.bundles", "fleet_bundle.gears.bundles"))
	if plan, want := w.run(t, "plan"), "of release "+s.namespace+"/owner: a/gears"; !strings.Contains(plan, want) {
		t.Errorf("the plan lacks %q:\n%s", want, plan)
	}
	w.fail(t, []string{"apply", "-auto-approve"}, "belongs to release "+s.namespace+"/owner")
	if got := s.shortName(t, 0, "wheel"); got != "whl" {
		t.Errorf("the definition has the short name %q", got)
	}
	w.run(t, "destroy", "-auto-approve")
}

func targetOfGears(extra string) string { return target("  "+extra, "fleet_bundle.gears.bundles") }
