// Package diagnostics makes diagnostics of Terraform from messages of package report.
package diagnostics

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// Add adds diagnostics for messages. All messages of package report are added here.
func Add(diags *diag.Diagnostics, messages []report.Message) {
	for _, message := range messages {
		at := path.Empty()
		for _, step := range message.Attribute {
			switch step := step.(type) {
			case string:
				at = at.AtName(step)
			case int:
				at = at.AtListIndex(step)
			case report.MapKey:
				at = at.AtMapKey(string(step))
			}
		}
		switch {
		case message.Severity == report.Warning && len(message.Attribute) == 0:
			diags.AddWarning(message.Summary, message.Detail)
		case message.Severity == report.Warning:
			diags.AddAttributeWarning(at, message.Summary, message.Detail)
		case len(message.Attribute) == 0:
			diags.AddError(message.Summary, message.Detail)
		default:
			diags.AddAttributeError(at, message.Summary, message.Detail)
		}
	}
}
