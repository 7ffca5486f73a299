package plan

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// checkPolicies adds the violations of a deployment.
func (p *Plan) checkPolicies(d target.Deployment, rendering release.Rendering, policies deploy.Policies) error {
	if policies == nil {
		return nil
	}
	violations, err := policies.Planned(d, rendering)
	if len(rendering.HiddenTexts) > 0 {
		masker := &mask.Masker{}
		masker.Add(rendering.HiddenTexts...)
		violations = policy.Masked(violations, masker.Text)
	}
	p.Violations = append(p.Violations, violations...)
	return err
}
