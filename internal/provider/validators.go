package provider

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// deploymentPattern accepts the pattern of a deployment.
func deploymentPattern() validator.String {
	return framework.Text("must be the pattern of a deployment", "Invalid pattern in take_ownership_of", func(text string) string {
		if err := policy.CheckDeployment(text); err != nil {
			return report.Sentence(err)
		}
		return ""
	})
}

// removals accepts a number, or a percentage up to 100%.
func removals() validator.String {
	return stringvalidator.RegexMatches(regexp.MustCompile(`^([0-9]{1,6}|([0-9]{1,2}|100)%)$`), "must be a number of deployments or a percentage, such as 5 or 10%")
}
