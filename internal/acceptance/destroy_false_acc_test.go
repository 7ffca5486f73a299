package acceptance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// hasDestroyFalse reports whether a resource can have destroy = false in its lifecycle block: in
// Terraform from 1.16 on, and in OpenTofu from 1.12 on.
func (w *workspace) hasDestroyFalse(t *testing.T) bool {
	t.Helper()
	minor, isTofu := w.cliVersion(t)
	return minor >= 16 || isTofu && minor >= 12
}

// A target with destroy = false leaves the state, and nothing of it leaves its clusters.
func TestAccDestroyFalse(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	if !w.hasDestroyFalse(t) {
		t.Skip("destroy = false in lifecycle needs Terraform 1.16 or OpenTofu 1.12; TestAccStateOperations has removed blocks")
	}
	s, isTofu := newFixture(t, testenv.Shared(t)), strings.HasSuffix(w.cli, "tofu")
	const kept, a = "  lifecycle {\n    destroy = false\n  }\n", `fleet_cluster_target.each["a"]`
	configure := func(more string, keys ...string) {
		w.configure(t, s.provider("", on, on), s.bundle("one", "x"), "resource \"fleet_cluster_target\" \"each\" {\n  for_each = toset([\""+strings.Join(keys, `", "`)+
			"\"])\n  name = each.key\n  bundles = [fleet_bundle.one.bundles]\n  targets = [{ cluster_name = each.key }]\n"+more+"}\n")
	}
	configure(kept, "a", "b")
	w.apply(t)
	was := s.inventory(t)

	configure(kept, "a")
	w.apply(t)
	s.expectInventory(t, was)
	w.expectEmptyPlan(t)

	// No Delete precedes such a replacement, so the create finds releases that no state has.
	apply := []string{"apply", "-auto-approve", "-input=false"}
	for _, isTainted := range []bool{false, true} {
		if isTainted {
			w.run(t, "taint", a)
			w.fail(t, apply, "releases of its owner and name already exist")
		} else {
			w.fail(t, append(slices.Clone(apply), "-replace="+a), "releases of its owner and name already exist")
		}
		s.expectInventory(t, was)
		w.run(t, "import", "-input=false", a, "a")
		w.apply(t)
		s.expectInventory(t, was)
	}

	// OpenTofu ends such a destroy with an error, after it is done.
	if output, ok := w.attempt(t, "destroy", "-auto-approve", "-input=false"); !ok && !isTofu {
		t.Fatal(output)
	}
	if left := w.run(t, "state", "list"); strings.Contains(left, "fleet_cluster_target") {
		t.Errorf("the state has %s", left)
	}
	s.expectInventory(t, was)

	// What the configuration no longer has, Terraform destroys. OpenTofu remembers destroy = false.
	configure(kept, "a")
	w.run(t, "import", "-input=false", a, "a")
	w.apply(t)
	w.configure(t, s.provider("", on, on), s.bundle("one", "x"))
	w.apply(t)
	if isTofu {
		s.expectInventory(t, was)
	} else {
		s.expectNothing(t, 0)
	}

	configure("", "a", "b")
	w.run(t, "import", "-input=false", `fleet_cluster_target.each["b"]`, "b")
	if isTofu {
		w.run(t, "import", "-input=false", a, "a")
	}
	w.apply(t)
	w.run(t, "destroy", "-auto-approve", "-input=false")
	for i := range 2 {
		s.expectNothing(t, i)
	}
}
