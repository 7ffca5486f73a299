package diagnostics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

func TestMessagesBecomeDiagnostics(t *testing.T) {
	t.Parallel()
	var got diag.Diagnostics
	Add(&got, []report.Message{
		{Summary: "a", Detail: "b"},
		{Severity: report.Warning, Summary: "a", Detail: "b"},
		{Attribute: []any{"clusters", report.MapKey("eu"), "template_values"}, Summary: "a", Detail: "b"},
		{Severity: report.Warning, Attribute: []any{"targets", 2}, Summary: "a", Detail: "b"},
	})
	want := diag.Diagnostics{
		diag.NewErrorDiagnostic("a", "b"),
		diag.NewWarningDiagnostic("a", "b"),
		diag.NewAttributeErrorDiagnostic(path.Root("clusters").AtMapKey("eu").AtName("template_values"), "a", "b"),
		diag.NewAttributeWarningDiagnostic(path.Root("targets").AtListIndex(2), "a", "b"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
}
