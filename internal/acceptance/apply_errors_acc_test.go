package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// An apply can find the same errors as a plan, because others may have changed clusters after the
// plan. Such an error names its own target.
func TestAccErrorOfThePlanInsideAnApply(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	base := strings.ReplaceAll(target("", "fleet_bundle.base.bundles"), `"all"`, `"base"`)
	later := fmt.Sprintf(`resource "fleet_bundle" "later" {
  name              = "later"
  default_namespace = %q
  files = {
    "Chart.yaml"       = "apiVersion: v2\nname: later\nversion: 1.0.0\n"
    "templates/a.yaml" = "{{ fail \"no ${terraform_data.key.id}\" }}"
  }
  depends_on = [fleet_cluster_target.base]
}
`, s.namespace)
	w.configure(t, keyResource, s.provider("", on), s.bundle("base", "x"), base, later, target("", "fleet_bundle.later.bundles"))
	output := w.fail(t, applying, "Target all: cannot plan a/later", "No deployment of this target was started")
	if strings.Contains(unwrapped(output), "Nothing was changed on any cluster") {
		t.Errorf("the apply has deployed a bundle, and says:\n%s", output)
	}
	s.expectReleases(t, 0, "base")
	w.configure(t, keyResource, s.provider("", on), s.bundle("base", "x"), base)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// A deployment that is not ready after its apply is no change. Each later plan warns about it, with
// the object and the reason.
func TestAccNotReadyIsAWarningOfThePlan(t *testing.T) {
	t.Parallel()
	for _, drift := range []string{"live", "release"} {
		t.Run(drift, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
			s.forbidPods(t, 0)
			w.configure(t, s.provider("", on), s.workload("web"), target(fmt.Sprintf("wait = false\ndrift = %q", drift), "fleet_bundle.web.bundles"))
			w.apply(t)
			for range 2 {
				expectSays(t, w.run(t, "plan", "-input=false"), "No changes", "Warning: Target all: deployments are not ready", "a/web:", "Deployment "+s.namespace+"/web is")
			}
			w.run(t, "destroy", "-auto-approve")
		})
	}
}
