package plan

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// quotingPolicy is a policy that quotes a value of a plan.
type quotingPolicy struct {
	deploy.Policies

	value string
}

func (q quotingPolicy) Planned(target.Deployment, release.Rendering) ([]policy.Violation, error) {
	return []policy.Violation{{Text: "the image " + q.value + " is not allowed"}}, nil
}

// A policy quotes no text that templates have made of a secret.
func TestPlannedViolationsQuoteNoSecret(t *testing.T) {
	t.Parallel()
	const value = "evil.io/68756e746572"
	p := &Plan{}
	if err := p.checkPolicies(target.Deployment{}, release.Rendering{HiddenTexts: []string{value}}, quotingPolicy{value: value}); err != nil {
		t.Fatal(err)
	}
	if len(p.Violations) != 1 || strings.Contains(p.Violations[0].Text, value) {
		t.Errorf("the violations are %+v", p.Violations)
	}
}
