package provider

import (
	"context"
	"maps"
	"os"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/preview"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/planreport"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// reportVariable is the environment variable with the names of the plan report files.
const reportVariable = "FLEET_REPORT"

// openReport returns the writer of the plan report, nil if no file is set. A plan does not need the
// report, so a failure is a warning.
func openReport(owner string, diags *diag.Diagnostics) *planreport.Writer {
	writer, err := planreport.Open(os.Getenv(reportVariable), owner)
	if err != nil {
		diagnostics.Add(diags, report.NoPlanReport(err))
		return nil
	}
	return writer
}

// planReporter reports the plan of a target. before is the state of the target.
type planReporter struct {
	*providerData

	before *targetState
	// bundles are those of the plan, null if the target is removed.
	bundles types.List
}

// comparedAs returns how the objects of a plan are compared. A report has the comparison even if
// the plan does not show it.
func comparedAs(model *targetModel, writer *planreport.Writer) plan.DiffMode {
	if mode := model.diff(); mode != plan.DiffSummary || !writer.IsWanted() {
		return mode
	}
	return plan.DiffAuto
}

// addPlan reports what happens to the deployments. said are warnings that the report has in another
// form.
func (r planReporter) addPlan(ctx context.Context, operation planreport.Operation, name string, planned *plan.Plan, found preview.DiffReport, said []report.Message, diags *diag.Diagnostics) {
	r.add(ctx, planreport.Input{Operation: operation, Name: name, Plan: planned, Diff: found, Warnings: warningsIn(*diags, slices.Concat(said, report.Diff(name, found)))}, diags)
}

// addUnknown reports that nothing about the target is known before the apply.
func (r planReporter) addUnknown(ctx context.Context, name, reason string, diags *diag.Diagnostics) {
	r.add(ctx, planreport.Input{Operation: operationOf(r.before), Name: name, Unknown: reason, Warnings: warningsIn(*diags, nil)}, diags)
}

func (r planReporter) add(ctx context.Context, in planreport.Input, diags *diag.Diagnostics) {
	if !r.planReport.IsWanted() || diags.HasError() {
		return
	}
	in.Owner = r.Owner
	in.Prior = r.before.known.Records
	in.Groups = r.Groups
	in.Shown = r.masker.Shown
	in.Clusters, _ = r.clusters.Facts()
	in.Sources = r.sources(ctx)
	id := r.before.ID.ValueString()
	if err := r.planReport.Add(planreport.Planned(in), id != "" && !r.repeats(id)); err != nil {
		diagnostics.Add(diags, report.NoPlanReport(err))
	}
}

// sources returns the commits of the bundles, before and after the plan.
func (r planReporter) sources(ctx context.Context) []planreport.Source {
	found := map[string]planreport.Source{}
	for name, origin := range r.source.Origins(ctx, elementsIn(r.before.Bundles)) {
		found[name] = planreport.Source{Bundle: name, Repository: origin.Repository, CommitBefore: origin.Commit}
	}
	for name, origin := range r.source.Origins(ctx, elementsIn(r.bundles)) {
		of := planreport.Source{Bundle: name, Repository: origin.Repository, CommitAfter: origin.Commit, Subject: origin.About.Subject, Author: origin.About.Author}
		if former := found[name]; former.Repository == of.Repository {
			of.CommitBefore = former.CommitBefore
		}
		found[name] = of
	}
	return slices.Collect(maps.Values(found))
}

func operationOf(before *targetState) planreport.Operation {
	if before.ID.ValueString() == "" {
		return planreport.Create
	}
	return planreport.Update
}

// warningsIn returns the warnings of a plan, except for those that the report contains elsewhere.
func warningsIn(diags diag.Diagnostics, without []report.Message) []planreport.Warning {
	var warnings []planreport.Warning
	for _, warning := range diags.Warnings() {
		if !slices.ContainsFunc(without, func(m report.Message) bool { return m.Summary == warning.Summary() }) {
			warnings = append(warnings, planreport.Warning{Summary: warning.Summary(), Detail: warning.Detail()})
		}
	}
	return warnings
}
