package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// apply brings the clusters from what was before to plan and fills in what is
// true then. It is false when nothing was begun.
func (r *targetResource) apply(ctx context.Context, config tfsdk.Config, plan, before *targetModel, known remembered, private privateWriter, diags *diag.Diagnostics) bool {
	name, prior := plan.Name.ValueString(), before.records()
	wanted, reason := r.wanted(ctx, config, plan, known.versions, diags)
	settings := plan.settings(diags)
	if diags.HasError() {
		return false
	}
	if reason != "" {
		diags.AddError("Cannot deploy target "+name, "This is known only later: "+reason+".")
		return false
	}
	known.abilities.pin(wanted)
	change := compare(wanted, prior, plan.remarks(before))
	r.fleet.unpinAfterKinds(change)
	plan.unpinUnplanned(change.write)
	counts := change.counts()
	change.remove = r.forgetMissing(name, change.remove, diags)
	addPlanFailures(diags, name, change.faults)
	if diags.HasError() {
		return false
	}
	planned := plan.plannedObjects()
	outcome := r.fleet.engine.Apply(ctx, deploy.Request{
		Holder: plan.holder(r.fleet), Create: known.create,
		Write: change.write, Planned: planned, Beside: change.beside, Remove: change.remove, Needs: known.needs, Prior: prior, Lost: before.lostReleases(), Settings: settings,
		Keep: slices.Collect(maps.Keys(change.keep)), UIDs: r.fleet.expectedUIDs(known.uids, prior),
	})
	if len(outcome.Existing) > 0 {
		addExisting(name, outcome.Existing, diags)
		return false
	}
	r.fleet.logPanics(ctx, outcome.Failures)
	r.forgetUnreachable(name, &outcome, diags)
	outcome.Failures = append(outcome.Failures, unplanned(planned, outcome)...)
	outcome.Failures = append(outcome.Failures, plan.unexpectedlyHeld(change.held, prior)...)
	addFailures(diags, name, outcome)
	addNotices(diags, name, outcome.Notices)
	rememberVersions(ctx, private, known.versions, outcome.Versions, wanted, diags)
	r.fleet.rememberAbilities(ctx, private, known.abilities, wanted, change.write, diags)
	rememberNeeds(ctx, private, known.needs, change.needs, outcome.Records, diags)

	records := outcome.Records
	plan.lost = before.wantedLost(wanted)
	for key := range change.keep {
		if plan.leavesOut(key) {
			plan.lost[key] = prior[key].Known
			continue
		}
		records[key] = prior[key]
	}
	for _, d := range wanted {
		key := deploy.Key{Cluster: d.Cluster, Bundle: d.Bundle.Name}
		if record, ok := records[key]; ok && change.keep[key] {
			record.Rules = release.RulesOf(d.Options) // They change without a deployment.
			records[key] = record
		}
	}
	rememberLooks(ctx, before.looks, private, records, plan.PlanObjects.ValueBool(), diags)
	shown := plan.Records
	plan.setRecords(records)
	if shown.IsNull() || !counts.Any() && !isUnknownInside(ctx, shown) { // Null in a state of an earlier version, before its first refresh.
		plan.Records = shown
	}
	r.fleet.rememberConnections(ctx, known.connections, private, records, diags)
	if plan.Summary.IsUnknown() {
		plan.Summary = types.StringValue(counts.String())
	}
	if plan.Stages.IsUnknown() { // No plan has told what is held.
		plan.Stages = types.StringValue(change.inWords())
		warnHeld(name, change.held, diags)
	}
	return true
}

// unplanned finds deployments whose objects are not those the plan showed. It
// takes a chart whose output changes in a way that was not foreseen; the state
// then says what is there, and this error says why.
func unplanned(planned map[deploy.Key]map[string]string, outcome deploy.Outcome) []deploy.Failure {
	var failures []deploy.Failure
	failed := map[deploy.Key]bool{}
	for _, failure := range outcome.Failures {
		failed[deploy.Key{Cluster: failure.Cluster, Bundle: failure.Bundle}] = true
	}
	for key, objects := range planned {
		record, ok := outcome.Records[key]
		if !ok || failed[key] || !record.State.Settled() || maps.Equal(record.Objects, objects) {
			continue
		}
		failures = append(failures, deploy.Failure{
			Cluster: key.Cluster, Bundle: key.Bundle, Doing: "deploying",
			Err: fmt.Errorf("the chart rendered other objects than the plan showed"),
		})
	}
	return failures
}

// readyClusters counts over records.
func readyClusters(records map[deploy.Key]deploy.Record) string {
	states := map[string][]status.State{}
	for key, record := range records {
		states[key.Cluster] = append(states[key.Cluster], record.State)
	}
	return status.ReadyClusters(states)
}
