package provider

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// apply changes the clusters from before to plan. It sets the computed attributes and private state
// to the result. It returns false if it stopped before any change. create is true if no state
// contains the target or one that it replaces.
func (p *providerData) apply(ctx context.Context, config tfsdk.Config, model *targetModel, before *targetState, create bool, private *state.Private, diags *diag.Diagnostics) bool {
	name, prior := model.Name.ValueString(), before.known.Records
	desired, reason := p.desired(ctx, config, model, private.ObjectVersions, diags)
	settings, capabilities := model.settings(diags), unpack(*private, diags)
	if diags.HasError() {
		return false
	}
	if reason != "" {
		diagnostics.Add(diags, report.StillUnknown(name, reason))
		return false
	}
	desired = holdByWindows(p, desired, model, diags)
	desired.Needs = private.Needs
	capabilities.Pin(desired.Deployments)
	shown, planned := model.shown, model.planned()
	if model.Planned.Equal(before.Planned) {
		planned = planned.Repeated()
	}
	objects := shown.PlannedObjects()
	change := plan.Replan(desired, prior, plan.Shown{
		Relabel: model.releaseLabels().Changes(before.releaseLabels()), HoldsBroken: model.holdsBroken() && !planned.IsUnknown, Writes: planned.Writes,
		KnowsObjects: model.PlanObjects.ValueBool(), Objects: objects,
	}, p.charts)
	counts := change.Counts()
	change, unreachable := change.WithoutUnreachable(reachOf(p))
	diagnostics.Add(diags, report.MissingClusters(name, unreachable, p.OnMissing))
	diagnostics.Add(diags, report.PlanFailures(name, change.Faults))
	blocked := change.Blocked(desired, windowsNow(p, diags))
	settings.Description = p.Windows.Description(settings.Description)
	if diags.HasError() {
		return false
	}
	identity := model.identity(p, before)
	p.registry.RecordKey(identity.Key)
	outcome := p.delivery().Apply(ctx, run.Request{
		TargetIdentity: identity, Create: create, Keys: p.registry.Keys,
		Write: change.Write, Blocked: blocked, Planned: objects, Ready: planned.Ready(), Wants: change.Wants(ctx, p.charts), Unchanged: change.Unchanged, Order: change.Order,
		Remove: change.Remove, Needs: change.RemovalNeeds, Counts: counts,
		Prior: prior, Missing: before.known.Missing, Settings: settings, Policies: desired.Policies,
		Keep: slices.Collect(maps.Keys(change.Keep)), UIDs: state.ExpectedUIDs(prior, private.ClusterUIDs, p.clusters.UIDs()),
	})
	if len(outcome.Overlapping) > 0 {
		diagnostics.Add(diags, report.OverlappingClusters(name, outcome.Overlapping))
		return false
	}
	if len(outcome.Existing) > 0 {
		diagnostics.Add(diags, report.Existing(name, outcome.Existing))
		return false
	}
	p.logPanics(ctx, outcome.Failures)
	p.forgetUnreachable(name, &outcome, diags)
	outcome.Failures = slices.Concat(outcome.Failures, outcome.Unplanned(objects), change.UnexpectedlyHeld(planned.WritesOther))
	diagnostics.Add(diags, report.Failures(name, outcome))
	diagnostics.Add(diags, report.Notices(name, outcome.Notices))
	diagnostics.Add(diags, report.Policies(name, outcome.Warned))
	records, leftOut := change.RecordsAfter(outcome.Records, desired.Deployments, func(key deploy.Key) bool { return before.isReplaced && planned.LeavesOut(key) })
	*private = private.Applied(state.Apply{
		Change: change, Outcome: outcome, Wanted: desired.Deployments, Records: records,
		Entry: p.clusters.Connection, ShowsObjects: model.PlanObjects.ValueBool(),
	})
	repack(private, capabilities, p.capabilities().AfterWrite(ctx, capabilities, desired.Deployments, change.Write), diags)
	missing := state.WantedReleases(before.known.Missing, desired.Deployments, leftOut)
	contents := state.Contents{Records: records, Missing: missing, Held: planned.HeldAfter(change), ShowsObjects: model.PlanObjects.ValueBool()}
	after := state.ShownAfter(contents, change, planned, shown)
	if !diags.HasError() {
		diagnostics.Add(diags, report.Inconsistent(name, after.Differences(shown)))
	}
	setApplied(model, after, counts)
	if planned.IsUnknown {
		decided := state.PlannedBy(change)
		decided.Number = before.known.Planned.Number + 1
		model.Planned = types.StringValue(decided.Encode())
	}
	if shown.IsUnknown { // No plan has reported the held deployments.
		diagnostics.Add(diags, report.Held(name, change.Held))
	}
	return true
}

// setApplied sets the computed attributes to the result of an apply.
func setApplied(model *targetModel, after state.Shown, counts status.Changes) {
	planned := model.shown
	model.setShown(after)
	if !counts.Any() && planned.RecordsKnown() {
		model.shown.Records = planned.Records
	}
}

// forgetUnreachable discards removals that failed because a cluster does not respond. It discards
// them only if the entry of the cluster was removed and on_missing allows it.
func (p *providerData) forgetUnreachable(name string, outcome *deploy.Outcome, diags *diag.Diagnostics) {
	if p.OnMissing == deploy.ForgetMissing {
		diagnostics.Add(diags, report.UnreachableForgotten(name, outcome.Forget(p.clusters.Configured)))
	}
}
