package provider

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// removals accepts a number, or a percentage up to 100%.
func removals() validator.String {
	return stringvalidator.RegexMatches(regexp.MustCompile(`^([0-9]{1,6}|([0-9]{1,2}|100)%)$`), "must be a number of deployments or a percentage, such as 5 or 10%")
}

// gitPrefix accepts the beginning of the URL of a git repository.
func gitPrefix() validator.String {
	const description = "must be the beginning of the URL of a git repository, such as https://github.com/acme"
	return framework.Text(description, "Credentials that cover no repository", func(text string) string {
		if err := git.ValidatePrefix(text); err != nil {
			return report.Sentence(err) + "\n\nA key of git " + description + "."
		}
		return ""
	})
}
