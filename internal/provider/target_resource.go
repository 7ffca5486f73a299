package provider

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/config"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/protocol"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
)

var (
	_ resource.ResourceWithConfigure   = (*targetResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*targetResource)(nil)
	_ resource.ResourceWithImportState = (*targetResource)(nil)
)

// targetResource owns the Helm releases of some bundles on some clusters.
type targetResource struct {
	framework.ResourceName
	configured
}

func newTargetResource() resource.Resource { return &targetResource{ResourceName: "cluster_target"} }

func (r *targetResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan targetModel
	plan.load(ctx, req.Plan, protocol.StringMapsOf(ctx).Planned, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.readLimit(ctx, true, &resp.Diagnostics)
	ctx, cancel := context.WithTimeout(ctx, plan.limit)
	defer cancel()

	plan.ID = types.StringValue(rand.Text())
	before, left := &targetState{}, r.providerData.registry.TakePredecessor(plan.Name.ValueString())
	if left.Instance != "" {
		before = replacedState(left)
		plan.ID = before.ID
	}
	stored := loadPrivate(ctx, planPrivate(ctx, resp.Private), &resp.Diagnostics)
	plan.decided = r.providerData.Windows.TimeFor(stored.Decided)
	private := state.Private{ClusterUIDs: map[string]string{}, Capabilities: stored.Capabilities, Decided: plan.decided}
	maps.Copy(private.ClusterUIDs, stored.ClusterUIDs)
	maps.Copy(private.ClusterUIDs, left.UIDs)
	f, inventory := r.providerData.withInventory(ctx, stored.Inventory, &resp.Diagnostics)
	private.Inventory = inventory
	if resp.Diagnostics.HasError() {
		return
	}
	begun := f.apply(ctx, req.Config, &plan, before, left.Instance == "", &private, &resp.Diagnostics)
	storePrivate(ctx, resp.Private, state.Private{}, private, &resp.Diagnostics)
	if !begun && left.Instance != "" {
		// No other state contains the releases that the replaced target left.
		plan.setOnlyRecords(left.Records, left.Missing)
		plan.save(ctx, &resp.State, &resp.Diagnostics)
		return
	}
	if resp.Diagnostics.HasError() && len(plan.shown.Deployments) == 0 {
		// No deployment exists, so nothing is saved. Terraform would taint a saved target. With
		// create_before_destroy it would then remove the target that was to be replaced.
		return
	}
	// The result is saved even if the apply failed in part.
	if begun {
		plan.save(ctx, &resp.State, &resp.Diagnostics)
	}
}

func (r *targetResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	if r.providerData == nil || r.providerData.ClustersUnknown {
		return
	}
	private := loadPrivate(ctx, req.Private, &resp.Diagnostics)
	model, known := readState(ctx, req.State, private, &resp.Diagnostics), unpack(private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	records, missing := model.known.Records, model.known.Missing
	moves := state.MovesOf(records, nil, r.providerData.HasEngine())
	if r.providerData.HasEngine() && r.providerData.fleetEngine == nil || r.providerData.Management == nil && len(moves.Unwanted) > 0 {
		return // The Fleet is not known yet, or the plan reports the problem.
	}
	private = private.ForDelivery(records, r.providerData.HasEngine())
	r.providerData.registry.RecordInstance(model.ID.ValueString(), model.Name.ValueString(), records)
	capabilities := r.providerData.capabilities().Start(ctx, known)
	identity := model.identity(r.providerData, model)
	r.providerData.registry.RecordKey(identity.Key)
	observation := r.providerData.delivery().Observe(ctx, identity, model.drift(), missing.AddedTo(records))
	r.providerData.logPanics(ctx, observation.Failures)
	failures := slices.DeleteFunc(observation.Failures, func(f deploy.Failure) bool {
		return !r.providerData.HasEngine() && !r.providerData.clusters.IsConnectable(f.Cluster)
	})
	diagnostics.Add(&resp.Diagnostics, report.Unobserved(model.Name.ValueString(), failures, r.providerData.OnUnreachable == config.ErrorUnreachable))
	if resp.Diagnostics.HasError() {
		return
	}
	r.providerData.registry.Identify(observation.UIDs)
	after, replaced := private.Refreshed(state.Refresh{
		Records: records, Observation: observation, Versions: r.providerData.runner.Versions(ctx, private.ObjectVersions.References(r.providerData.clusters.IsConnectable)),
		Entry: r.providerData.clusters.Connection, ShowsObjects: model.PlanObjects.ValueBool(),
	})
	diagnostics.Add(&resp.Diagnostics, report.ReplacedClusters(replaced))
	after.Decided = r.providerData.Windows.Refreshed(private.Decided)
	if after.Inventory = nil; r.providerData.HasEngine() {
		if after.Inventory = private.Inventory; len(observation.Failures) == 0 {
			_, after.Inventory = r.providerData.withInventory(ctx, nil, &resp.Diagnostics)
		}
	}
	if resp.Diagnostics.HasError() {
		return
	}
	repack(&after, known, capabilities(), &resp.Diagnostics)
	storePrivate(ctx, resp.Private, private, after, &resp.Diagnostics)
	missing.KeepUnreachable(observation)
	diagnostics.Add(&resp.Diagnostics, report.Drift(model.Name.ValueString(), observation))
	if !maps.EqualFunc(records, observation.Records, deploy.Record.Equal) {
		model.setContents(observation.Records, observation.Missing, model.known.Held)
		model.save(ctx, &resp.State, &resp.Diagnostics)
	}
}

func (r *targetResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan targetModel
	plan.load(ctx, req.Plan, protocol.StringMapsOf(ctx).Planned, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.readLimit(ctx, false, &resp.Diagnostics)
	ctx, cancel := context.WithTimeout(ctx, plan.limit)
	defer cancel()

	private := loadPrivate(ctx, req.Private, &resp.Diagnostics)
	prior := readState(ctx, req.State, private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	after := private
	after.Replacement = state.ReplacementMarker{}
	after = after.ForDelivery(prior.known.Records, r.providerData.HasEngine())
	plan.decided = r.providerData.Windows.TimeFor(private.Decided)
	f, inventory := r.providerData.withFormer(private).withInventory(ctx, private.Inventory, &resp.Diagnostics)
	after.Inventory = inventory
	if resp.Diagnostics.HasError() {
		return
	}
	begun := f.apply(ctx, req.Config, &plan, prior, false, &after, &resp.Diagnostics)
	storePrivate(ctx, resp.Private, private, after, &resp.Diagnostics)
	if begun {
		plan.save(ctx, &resp.State, &resp.Diagnostics)
	}
}

func (r *targetResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	private := loadPrivate(ctx, req.Private, &resp.Diagnostics)
	model := readState(ctx, req.State, private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	limit, diags := model.Timeouts.Delete(ctx, defaultOperation)
	resp.Diagnostics.Append(diags...)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	marker, f := private.Replacement, r.providerData.withFormer(private)
	name := model.Name.ValueString()
	records := model.known.Records
	settings := model.settings(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if f.HasEngine() && f.fleetEngine == nil {
		diagnostics.Add(&resp.Diagnostics, report.StillUnknown(name, "the provider's engine"))
		return
	}
	if model.reportMoves(f.Management, nil, &resp.Diagnostics); resp.Diagnostics.HasError() {
		return
	}
	removal := plan.Change{Remove: marker.Removals(records)}
	diagnostics.Add(&resp.Diagnostics, report.Replaced(name, len(records)-len(removal.Remove)))
	if !f.ClustersUnknown {
		var unreachable []string
		removal, unreachable = removal.WithoutUnreachable(reachOf(f))
		diagnostics.Add(&resp.Diagnostics, report.MissingClusters(name, unreachable, f.OnMissing))
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if marker.Planned {
		f.registry.RecordInstance(model.ID.ValueString(), name, records) // No Read runs before the create in this process.
		left := plan.Predecessor{Instance: model.ID.ValueString(), Records: plan.Without(records, removal.Remove), Missing: model.known.Missing, UIDs: private.ClusterUIDs}
		defer func() {
			if !resp.Diagnostics.HasError() {
				f.registry.LeavePredecessor(marker.Target, left)
			}
		}()
	}
	if len(removal.Remove) > 0 && !f.remove(ctx, model, removal.Remove, settings, private, &resp.Diagnostics) {
		model.save(ctx, &resp.State, &resp.Diagnostics)
	}
}

// remove removes deployments. It returns false if some of them could not be removed. The model
// keeps those, so that the next apply removes them, and the deployments that the Create of a
// replacement adopts.
func (p *providerData) remove(ctx context.Context, model *targetState, removed []deploy.Key, settings run.Settings, private state.Private, diags *diag.Diagnostics) bool {
	name, records := model.Name.ValueString(), model.known.Records
	blocked := plan.BlockedRemovals(removed, private.Needs, windowsNow(p, diags), records)
	if diags.HasError() {
		return false
	}
	outcome := p.delivery().Apply(ctx, run.Request{
		TargetIdentity: model.identity(p, model), Keys: p.registry.Keys,
		Remove: removed, Blocked: blocked, Needs: private.Needs, Prior: records, Settings: settings,
		Counts: plan.Change{Remove: removed}.Counts(),
		UIDs:   state.ExpectedUIDs(records, private.ClusterUIDs, p.clusters.UIDs()),
	})
	p.forgetUnreachable(name, &outcome, diags)
	diagnostics.Add(diags, report.Notices(name, outcome.Notices))
	diagnostics.Add(diags, report.Failures(name, outcome))
	if len(outcome.Failures) == 0 {
		return true
	}
	left := plan.Without(records, removed)
	maps.Copy(left, outcome.Records)
	model.setOnlyRecords(left, model.known.Missing)
	return false
}
