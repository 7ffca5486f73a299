package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A bundle that is never ready and asks for a day gets half of the apply. Then it fails by itself:
// the end of the apply interrupts nothing, and the plan has said so.
func TestAttackTimeoutOfBundle(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	s.forbidPods(t, 0)
	slow := strings.Replace(s.workload("slow"), "  files =", "  helm = { timeout_seconds = 86400 }\n  files =", 1)
	w.configure(t, s.provider("", on), slow, s.bundle("other", "x"),
		target("deployment_timeout = \"1s\"\ntimeouts {\n  create = \"20s\"\n}", "fleet_bundle.slow.bundles", "fleet_bundle.other.bundles"))
	output := w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "timeouts of bundles are shortened", "The target permits 10s for one deployment",
		"bundle slow: helm.timeoutSeconds is 86400: on a", fmt.Sprintf("not ready: Deployment %s/slow", s.namespace))
	if strings.Contains(output, "interrupted") {
		t.Errorf("the end of the apply interrupted a deployment:\n%s", output)
	}
	if diff := cmp.Diff(map[string]string{"a/other": "Ready", "a/slow": "ErrApplied"}, w.states(t)); diff != "" {
		t.Errorf("saved states (-want +got):\n%s", diff)
	}
}
