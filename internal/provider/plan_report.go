package provider

import (
	"os"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/planreport"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// reportVariable names the files that plans are reported to.
const reportVariable = "FLEET_REPORT"

// openReport makes the writer of these files. A plan does not need it, so a failure is a warning.
func (f *providerData) openReport(diags *diag.Diagnostics) {
	writer, err := planreport.Open(os.Getenv(reportVariable), f.owner)
	if err != nil {
		addMessages(diags, report.NoPlanReport(err))
		return
	}
	f.planReport = writer
}

// comparedAs is how the objects of a plan are compared: for a report, also if the plan does not show
// it.
func (f *providerData) comparedAs(plan *targetModel) deploy.DiffMode {
	if mode := plan.diff(); mode != deploy.DiffSummary || !f.planReport.IsWanted() {
		return mode
	}
	return deploy.DiffAuto
}

// reportPlan reports the plan of a target whose state is before.
func (f *providerData) reportPlan(operation planreport.Operation, before *targetModel, name string, planned *deploy.Plan, found deploy.DiffReport, diags *diag.Diagnostics) {
	f.addReport(before, planreport.Input{Operation: operation, Name: name, Plan: planned, Diff: found, Warnings: warningsIn(*diags, report.Diff(name, found))}, diags)
}

// reportUnknown reports that nothing of a target is known before the apply.
func (f *providerData) reportUnknown(before *targetModel, name, reason string, diags *diag.Diagnostics) {
	f.addReport(before, planreport.Input{Operation: operationOf(before), Name: name, Unknown: reason, Warnings: warningsIn(*diags, nil)}, diags)
}

func (f *providerData) addReport(before *targetModel, in planreport.Input, diags *diag.Diagnostics) {
	if !f.planReport.IsWanted() || diags.HasError() {
		return
	}
	in.Owner, in.Prior, in.Groups, in.Shown = f.owner, before.records(), f.groups, f.masker.Shown
	in.Clusters, _ = f.clusters.Facts()
	id := before.ID.ValueString()
	if err := f.planReport.Add(planreport.Planned(in), id != "" && !f.repeats(id)); err != nil {
		addMessages(diags, report.NoPlanReport(err))
	}
}

func operationOf(before *targetModel) planreport.Operation {
	if before.ID.ValueString() == "" {
		return planreport.Create
	}
	return planreport.Update
}

// warningsIn are the warnings of a plan but those that say the same as the report does elsewhere.
func warningsIn(diags diag.Diagnostics, without []report.Message) []planreport.Warning {
	var warnings []planreport.Warning
	for _, warning := range diags.Warnings() {
		if len(without) == 0 || warning.Summary() != without[0].Summary {
			warnings = append(warnings, planreport.Warning{Summary: warning.Summary(), Detail: warning.Detail()})
		}
	}
	return warnings
}
