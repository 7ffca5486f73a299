package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// There is one message for each policy and rule, one line for each cause, and a maximum of
// lines.
func TestPolicies(t *testing.T) {
	t.Parallel()

	violation := func(cluster, object string, action policy.Action) policy.Violation {
		return policy.Violation{Policy: "p", Action: action, Rule: "denied_kinds", Cluster: cluster, Bundle: "web", Object: object, File: "x.yaml", Line: 3, Text: "the kind is denied"}
	}
	messages := report.Policies("all", []policy.Violation{violation("a", "Secret/x", policy.Deny), violation("b", "Secret/x", policy.Deny), violation("a", "Pod/x", policy.Warn)})
	want := []report.Message{
		{
			Summary: "Target all: policy p (denied_kinds) refuses a/web, b/web",
			Detail:  "  - a/web, b/web: Secret/x (x.yaml:3): the kind is denied\n\nNo deployment of this target was started. Correct the bundle, or change the policy in the provider block.",
		},
		{Severity: report.Warning, Summary: "Target all: policy p (denied_kinds) warns of a/web", Detail: "  - a/web: Pod/x (x.yaml:3): the kind is denied\n"},
	}
	if difference := cmp.Diff(want, messages); difference != "" {
		t.Error(difference)
	}
	var many []policy.Violation
	for i := range 100 {
		many = append(many, violation("a", fmt.Sprintf("Secret/%d", i), policy.Deny))
	}
	detail := report.Policies("all", many)[0].Detail
	if lines := strings.Count(detail, "the kind is denied"); lines != 20 || !strings.Contains(detail, "and 80 more") {
		t.Errorf("%d lines of 100:\n%s", lines, detail)
	}
}
