package provider

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/preview"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleet"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetschema"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/planreport"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/protocol"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// ModifyPlan shows what an apply will do. It is called at plan and again at apply, perhaps on
// another machine, and must return the same: the plan is a function of configuration, prior state,
// private state and content pinned by digest. Clusters are read for reports, and the plan of a
// create also reads capabilities and the inventory of a Fleet.
func (r *targetResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	private := loadPrivate(ctx, req.Private, &resp.Diagnostics)
	if req.Plan.Raw.IsNull() {
		r.planDestroy(ctx, req, resp, private)
		return
	}
	if r.providerData == nil {
		return
	}
	var model targetModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &model)...)
	creating, prior := req.State.Raw.IsNull(), &targetState{}
	if !creating {
		prior = readState(ctx, req.State, private, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	model.readLimit(ctx, creating, &resp.Diagnostics)
	var after state.Private
	if creating {
		after = r.planCreate(ctx, req.Config, &model, &resp.Diagnostics)
	} else {
		after = r.planUpdate(ctx, req.Config, &model, prior, private, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	storePlanned(ctx, resp.Private, private, after, &resp.Diagnostics)
	model.save(ctx, &resp.Plan, &resp.Diagnostics)
}

// planCreate plans a target that is in no state, and returns its private state. What the plan has read
// is in there if Terraform keeps it. The plan before the apply then takes it from there.
func (r *targetResource) planCreate(ctx context.Context, config tfsdk.Config, model *targetModel, diags *diag.Diagnostics) state.Private {
	planned := protocol.PlannedPrivate(ctx)
	after := loadPrivate(ctx, keptPrivate(planned.Private), diags)
	kept := unpack(after, diags)
	after.Decided = r.providerData.Windows.TimeFor(after.Decided)
	model.decided = after.Decided
	f, inventory := r.providerData.withInventory(ctx, after.Inventory, diags)
	if diags.HasError() {
		return after
	}
	found := kept
	var clusters []string
	after.Replacement = f.planTarget(ctx, config, model, &targetState{}, nil, func(wanted []target.Deployment) {
		for _, d := range wanted {
			clusters = append(clusters, d.Cluster)
		}
		kept.Pin(wanted)
		if kept == nil {
			found = f.capabilities().PinCreate(ctx, wanted, func(cluster string) bool {
				return !planned.Stores || f.registry.MayGainKinds(model.Name.ValueString(), cluster)
			})
		}
	}, diags)
	if !planned.Stores {
		return after
	}
	after.Inventory = inventory
	repack(&after, kept, found, diags)
	if after.ClusterUIDs == nil {
		after.ClusterUIDs = f.snapshots.UIDs(clusters)
	}
	return after
}

// planUpdate plans a target that is in the state, and returns its private state.
func (r *targetResource) planUpdate(ctx context.Context, config tfsdk.Config, model *targetModel, prior *targetState, private state.Private, diags *diag.Diagnostics) state.Private {
	after := private
	after.Decided = r.providerData.Windows.TimeFor(private.Decided)
	model.decided = after.Decided
	delivered := private.ForDelivery(prior.known.Records, r.providerData.HasEngine())
	f, _ := r.providerData.withFormer(delivered).withInventory(ctx, delivered.Inventory, diags)
	f.planTarget(ctx, config, model, prior, &delivered, func(wanted []target.Deployment) {
		unpack(delivered, diags).Pin(wanted)
	}, diags)
	return after
}

// planTarget fills in the computed attributes of a plan. private is nil for a create. pin sets the
// capabilities that charts are rendered with. The marker is for the Delete that can run before a
// Create.
func (p *providerData) planTarget(
	ctx context.Context, config tfsdk.Config, model *targetModel, prior *targetState, private *state.Private, pin func([]target.Deployment), diags *diag.Diagnostics,
) state.ReplacementMarker {
	name := model.Name.ValueString()
	marker := state.ReplacementMarker{Planned: true, Target: name}
	var known state.ObjectVersions
	if private != nil {
		known = private.ObjectVersions
	}
	desired, reason := p.desired(ctx, config, model, known, diags)
	if p.HasEngine() {
		diagnostics.Add(diags, model.notWithEngine())
	}
	if diags.HasError() {
		return marker
	}
	if reason != "" {
		diagnostics.Add(diags, report.Unknown(name, reason))
		marker.Unknown = true
		model.setUnknown()
		p.registry.Deploys(name, nil, nil)
		p.registry.Drop(name, prior.ID.ValueString())
		planReporter{p, prior, model.Bundles}.addUnknown(ctx, name, reason, diags)
		return marker
	}
	prior.reportMoves(p.Management, desired.Deployments, diags)
	if diags.HasError() {
		return marker
	}
	marker.Wanted, marker.Unknown = desired.Releases(), len(desired.Unreadable) > 0
	desired = holdByWindows(p, desired, model, diags)
	if private != nil {
		desired.Needs, desired.Unpredicted = private.Needs, private.UnpredictedDigests()
		if !prior.Name.Equal(model.Name) {
			p.registry.Drop(prior.Name.ValueString(), prior.ID.ValueString())
		}
		p.registry.Identify(private.ClusterUIDs)
		diagnostics.Add(diags, report.Orphans(name, private.Orphans, desired.Deployments))
	}
	pin(desired.Deployments)
	p.claim(model, prior, config, desired.Deployments, diags)
	p.planChange(ctx, model, prior, desired, known, diags)
	return marker
}

// planDestroy shows what is removed with a target.
func (r *targetResource) planDestroy(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, private state.Private) {
	// The marker of a replacement that was not carried out must not prevent a removal.
	after := private
	after.Replacement = state.ReplacementMarker{}
	storePrivate(ctx, resp.Private, private, after, &resp.Diagnostics)
	gone := readState(ctx, req.State, private, &resp.Diagnostics)
	if gone.DeletionProtection.ValueBool() {
		diagnostics.Add(&resp.Diagnostics, report.Protected(gone.Name.ValueString(), len(gone.known.Records)))
	}
	if r.providerData == nil {
		return
	}
	name := gone.Name.ValueString()
	gone.reportMoves(r.providerData.Management, nil, &resp.Diagnostics)
	removal, found := plan.Removal(gone.known.Records), preview.DiffReport{}
	if !resp.Diagnostics.HasError() && !r.providerData.HasEngine() {
		found = r.providerData.preview().Diff(ctx, preview.Request{
			Identity: gone.identity(r.providerData, gone), Consent: gone.consent(&resp.Diagnostics), Diff: gone.diff(),
		}, removal)
		diagnostics.Add(&resp.Diagnostics, report.Diff(name, found))
	}
	reach := reachOf(r.providerData.withFormer(private))
	if r.providerData.ClustersUnknown {
		reach = allReachable{}
	}
	said := report.Change(name, removal.DestroySummary(reach))
	if !resp.Diagnostics.HasError() {
		diagnostics.Add(&resp.Diagnostics, said)
	}
	r.providerData.registry.Drop(name, gone.ID.ValueString())
	reportDestroy(r.providerData, gone, private, &resp.Diagnostics)
	diagnostics.Add(&resp.Diagnostics, report.Orphans(name, private.Orphans, nil))
	planReporter{providerData: r.providerData, before: gone}.addPlan(ctx, planreport.Destroy, name, removal, found, said, &resp.Diagnostics)
}

// desired returns what the configuration wants. known are the versions of the objects that values
// come from. reason names what is not known yet, "" if everything is known.
func (p *providerData) desired(ctx context.Context, config tfsdk.Config, m *targetModel, known state.ObjectVersions, diags *diag.Diagnostics) (desired plan.Desired, reason string) {
	name := m.Name.ValueString()
	if reason = p.unknownForAll(ctx, m); reason != "" {
		return plan.Desired{}, reason
	}
	var unreadable map[string]error
	if m.holdsBroken() {
		unreadable = map[string]error{}
	}
	bundles, reason := p.readBundles(ctx, "Target "+name, m.Bundles, unreadable, diags)
	if reason != "" || diags.HasError() {
		return plan.Desired{}, reason
	}
	if m.CRDs.IsUnknown() && slices.ContainsFunc(bundles, func(b *bundle.Bundle) bool { return b.MayHaveCRDs() }) {
		return plan.Desired{}, "the target's crds"
	}
	writeOnly, reason := m.readWriteOnly(ctx, config, bundles, diags)
	if reason != "" || diags.HasError() {
		return plan.Desired{}, reason
	}
	in := target.Input{Bundles: bundles, Rules: fleetschema.RulesOf(ctx, m.Targets, diags), Groups: p.Groups, Evaluator: p.sandbox, CRDs: m.CRDs.ValueString()}
	clusters, reason := p.clustersFor(in)
	if reason != "" || diags.HasError() {
		return plan.Desired{}, reason
	}
	checker := checkerOf(p.Settings, m, clusters, p.charts, diags)
	if diags.HasError() {
		return plan.Desired{}, ""
	}
	in.Clusters, in.Defaults = clusters, defaultsOf(checker)
	result, err := target.Deployments(ctx, in)
	if err != nil {
		diagnostics.Add(diags, report.RuleFailure(name, err))
		return plan.Desired{}, ""
	}
	diagnostics.Add(diags, report.UnmatchedRules(name, result.Unmatched, p.clusters.Names()))
	for i, d := range result.Deployments {
		result.Deployments[i] = d.WithWriteOnly(writeOnly[d.Bundle.Name])
	}
	check := func(d target.Deployment) error {
		return errors.Join(checkDeployment(d), p.clusters.CheckNamespace(d.Cluster, d.Namespace))
	}
	if p.HasEngine() {
		check = checkForEngine
		for i, d := range result.Deployments {
			result.Deployments[i].Digest = fleet.Digest(d)
		}
	} else {
		known.Pin(result.Deployments)
	}
	desired = withPolicies(plan.NewDesired(bundles, result, unreadable, check), checker)
	if p.HasEngine() {
		for key, err := range fleet.CheckBundles(p.Owner, result.Deployments) {
			if desired.Broken[key] == nil {
				desired.Broken[key] = err
			}
		}
	}
	if !m.holdsBroken() {
		diagnostics.Add(diags, report.PlanFailures(name, deploy.FailuresOf(desired.Broken)))
	}
	return desired, ""
}

// unknownForAll names what is not known yet and decides about all deployments of a target,
// regardless of its bundles. It returns "" if there is no such value.
func (p *providerData) unknownForAll(ctx context.Context, m *targetModel) string {
	switch {
	case m.Name.IsUnknown() || framework.IsUnknownInside(ctx, m.Targets):
		return "the target's name or rules"
	case p.ClustersUnknown:
		return "the provider's clusters"
	case p.HasEngine() && p.fleetEngine == nil:
		return "the provider's engine"
	case p.GroupsUnknown:
		return "the provider's cluster_groups"
	case p.PoliciesUnknown:
		return "the provider's policies"
	case p.Windows.Unknown:
		return "the provider's windows"
	}
	_, unknown := p.clusters.FactsFor(func(string) bool { return false })
	return unknownFacts(unknown)
}

// clustersFor returns the clusters that a target can select. reason names their unknown facts that
// can decide about a deployment, "" if there are none.
func (p *providerData) clustersFor(in target.Input) (clusters []target.Cluster, reason string) {
	// Windows and policies select clusters, too.
	selects := len(p.Windows.Windows)+len(p.Policies) > 0
	decided := map[string]bool{} // Many clusters have the same labels.
	clusters, unknown := p.clusters.FactsFor(func(label string) bool {
		if _, ok := decided[label]; !ok {
			decided[label] = selects || in.MayReadLabel(label)
		}
		return decided[label]
	})
	return clusters, unknownFacts(unknown)
}

func unknownFacts(clusters []string) string {
	if len(clusters) == 0 {
		return ""
	}
	return "labels or other facts of cluster " + strings.Join(clusters, ", ")
}

// checkDeployment finds errors in the names and the rules of a deployment.
func checkDeployment(d target.Deployment) error {
	return errors.Join(d.CheckNames(), kube.CheckRules(release.RulesOf(d.Options)))
}

// planChange plans the change from before to desired, reports it, and fills in the computed
// attributes.
func (p *providerData) planChange(ctx context.Context, model *targetModel, before *targetState, desired plan.Desired, versions state.ObjectVersions, diags *diag.Diagnostics) {
	prior := before.known.Records
	reader := p.preview()
	planned := plan.New(ctx, desired, prior, plan.Facts{
		Charts: p.charts, Reach: reachOf(p), Limit: model.removalLimit(), Start: p.sandbox.Start,
		Relabel:    model.releaseLabels().Changes(before.releaseLabels()),
		HoldBroken: model.holdsBroken(), Diff: comparedAs(model, p.planReport),
		TakesOver: model.TakeOwnership.ValueBool() || model.AdoptionKey.ValueString() != "",
		Wait:      model.Wait.ValueBool() && !p.Management.LeavesOffline(),
		Prefetch: func(ctx context.Context, write []target.Deployment) func() {
			return reader.Prefetch(ctx, write, prior)
		},
	})
	p.registry.Deploys(model.Name.ValueString(), planned.Deploys(), planned.GainKinds(p.charts))
	name := model.Name.ValueString()
	diagnostics.Add(diags, report.Plan(name, &planned, desired, prior, p.OnMissing, p.clusters.UIDs()))
	reportOverridden(p, model, before, desired, diags)
	consent := model.consent(diags)
	diagnostics.Add(diags, report.UnmatchedConsent(name, desired.UnmatchedConsent(consent, prior)))
	if !model.DeploymentTimeout.IsUnknown() {
		settings := model.settings(diags)
		diagnostics.Add(diags, report.ShortenedTimeouts(name, settings.ShortenedTimeouts(planned.Write), settings.LongestTimeout()))
	}
	if diags.HasError() {
		return
	}
	p.checkTaken(ctx, name, planned.Write, prior, diags)
	if diags.HasError() {
		return
	}
	if p.HasEngine() {
		// The provider connects to no cluster, so it compares no objects there.
		reader.Connectable = func(string) bool { return false }
	}
	found := reader.Reports(ctx, &planned, preview.Request{
		Identity: model.identity(p, before), Consent: consent, Bundles: desired.Bundles(), Versions: versions,
		MayDeploy:  func(key deploy.Key) bool { return p.registry.MayDeploy(name, key) },
		IsRepeated: p.repeats(before.ID.ValueString()), Replaces: replacedRecords(p, before, name),
		Diff: comparedAs(model, p.planReport), ListsObjects: model.PlanObjects.ValueBool(),
	})
	changes := found.Diff
	if model.diff() == plan.DiffSummary {
		found.Diff = preview.DiffReport{TooManyFailed: changes.TooManyFailed}
	}
	diagnostics.Add(diags, report.Preview(name, model.TakeOwnership.IsUnknown() || framework.IsUnknownInside(ctx, model.TakeOwnershipOf), &planned, found))
	model.setPlanned(before, &planned, before.known.Missing.Wanted(desired.Deployments))
	if model.PlanObjects.ValueBool() {
		diagnostics.Add(diags, report.UnknownObjects(name, &planned.Unknown, model.shown.ObjectsUnknown))
	}
	planReporter{p, before, model.Bundles}.addPlan(ctx, operationOf(before), name, &planned, changes, report.Change(name, found.Summary), diags)
}

// replacedRecords returns the records of the target that a create replaces.
func replacedRecords(f *providerData, before *targetState, name string) map[deploy.Key]deploy.Record {
	if !before.ID.IsNull() {
		return nil
	}
	return f.registry.Replaced(name)
}

// repeats reports whether the plan of a target with this id is repeated during an apply. Then this
// process has refreshed nothing, and an earlier process has reported the plan. A plan with
// -refresh=false also counts as repeated: it requests no reads of clusters.
func (p *providerData) repeats(id string) bool { return id != "" && !p.registry.KnowsInstance(id) }
