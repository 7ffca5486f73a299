package provider

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// removals accepts a number, or a percentage up to 100%.
func removals() validator.String {
	return stringvalidator.RegexMatches(regexp.MustCompile(`^([0-9]{1,6}|([0-9]{1,2}|100)%)$`), "must be a number of deployments or a percentage, such as 5 or 10%")
}
