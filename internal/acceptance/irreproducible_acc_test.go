package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A chart renders something else each time. The plan names the cause and leaves its objects
// unknown, so Terraform never reports that an apply differs from its plan.
func TestAccIrreproducibleChart(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	w.configure(t, s.provider("", on), fmt.Sprintf(`
resource "fleet_bundle" "random" {
  name      = "random"
  namespace = %q
  files = {
    "Chart.yaml"          = yamlencode({ apiVersion = "v2", name = "random", version = "1.0.0" })
    "templates/pass.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: pass\ndata:\n  key: {{ randAlphaNum 12 }}\n"
  }
}
`, s.namespace), target("", "fleet_bundle.random.bundles"))
	plan := unwrapped(w.run(t, "plan"))
	for _, want := range []string{"objects are known only after the apply", "template templates/pass.yaml:6 uses randAlphaNum", "a/random"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan does not say %q:\n%s", want, plan)
		}
	}
	w.apply(t)
	word := s.value(t, 0, "pass")
	w.expectEmptyPlan(t)
	w.apply(t)
	if again := s.value(t, 0, "pass"); again != word || word == "" {
		t.Errorf("the word was %q and is %q", word, again)
	}
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
