package provider

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/protocol"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// bundlesResource is the common part of fleet_gitrepo and fleet_bundle, which make bundles. They
// touch no cluster. M is the model of one of them.
type bundlesResource[M any, P bundlesModel[M]] struct {
	framework.ResourceName
	configured
}

// bundlesModel is the model of a resource that makes bundles.
type bundlesModel[M any] interface {
	*M
	storedModel
	bundlesRequest[M]
}

// storedModel is read from a configuration, a plan or a state, and written to one.
type storedModel interface {
	read(ctx context.Context, from modelReader, diags *diag.Diagnostics)
	write(ctx context.Context, to modelWriter, diags *diag.Diagnostics)
}

type modelReader interface {
	Get(ctx context.Context, target any) diag.Diagnostics
}

type modelWriter interface {
	Set(ctx context.Context, value any) diag.Diagnostics
	SetAttribute(ctx context.Context, at path.Path, value any) diag.Diagnostics
}

// bundlesRequest are the methods that differ between the models.
type bundlesRequest[M any] interface {
	// follows returns what a refresh looks up for the resource.
	follows(ctx context.Context, diags *diag.Diagnostics) followed
	// request converts from values of Terraform. prior is the model of the state, the zero value
	// for a create. It returns nil if a value that a plan needs is not known yet.
	request(ctx context.Context, prior *M, creates bool, diags *diag.Diagnostics) *request
	// setPlanned sets the computed attributes of a plan. planned is nil if bundles are not known
	// yet.
	setPlanned(planned *source.Planned, prior *M)
	// resolveUnknown sets the values that a plan left unknown. stored is the commit in private state, "" if
	// there is none. It returns what has to be stored in private state.
	resolveUnknown(ctx context.Context, f *providerData, r request, stored string, diags *diag.Diagnostics) lookedUp
}

// ModifyPlan makes the bundles.
func (r *bundlesResource[M, P]) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.providerData == nil {
		return
	}
	var plan, prior M
	P(&plan).read(ctx, req.Plan, &resp.Diagnostics)
	creates := req.State.Raw.IsNull()
	if !creates {
		P(&prior).read(ctx, req.State, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	wanted := P(&plan).request(ctx, &prior, creates, &resp.Diagnostics)
	var planned *source.Planned
	if wanted != nil && !resp.Diagnostics.HasError() {
		private := planPrivate(ctx, req.Private)
		if creates {
			// Terraform passes the private state to the first plan of a replacement, and not to the
			// plan before its apply.
			private = keptPrivate(protocol.PlannedPrivate(ctx).Private)
		}
		stored := storedCommit(ctx, wanted.Git, private, &resp.Diagnostics)
		wanted.Images = storedImages(ctx, private, &resp.Diagnostics)
		wanted.Followed = wanted.followedVersions(ctx, private, &resp.Diagnostics)
		wanted.Kept, wanted.Found = protocol.PlannedPrivate(ctx).Stores, foundBefore(ctx, &resp.Diagnostics)
		planned = r.providerData.plan(ctx, *wanted, stored, &resp.Diagnostics)
		if planned != nil {
			storeImages(ctx, resp.Private, storedImages(ctx, req.Private, &resp.Diagnostics), planned.Images, &resp.Diagnostics)
			wanted.keep(ctx, resp.Private, planned, &resp.Diagnostics)
		}
	}
	P(&plan).setPlanned(planned, &prior)
	if !resp.Diagnostics.HasError() {
		P(&plan).write(ctx, &resp.Plan, &resp.Diagnostics)
	}
}

// Create sets the values that the plan left unknown.
func (r *bundlesResource[M, P]) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan, prior M
	P(&plan).read(ctx, req.Plan, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	r.resolveUnknown(ctx, &plan, P(&plan).request(ctx, &prior, true, &resp.Diagnostics), resp.Private, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.State.Raw = req.Plan.Raw
		P(&plan).write(ctx, &resp.State, &resp.Diagnostics)
	}
}

// Read looks up the commit of a followed branch and the newest image tags and chart versions. Each
// plan makes everything else.
func (r *bundlesResource[M, P]) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state M
	P(&state).read(ctx, req.State, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if r.providerData == nil {
		return
	}
	of := P(&state).follows(ctx, &resp.Diagnostics)
	from := r.providerData.source
	refreshCommit(ctx, from, of, req.Private, resp.Private, &resp.Diagnostics)
	refreshImages(ctx, from, of, req.Private, resp.Private, &resp.Diagnostics)
	refreshCharts(ctx, from, of, req.Private, resp.Private, &resp.Diagnostics)
}

// Update sets the values that the plan left unknown.
func (r *bundlesResource[M, P]) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, prior M
	P(&plan).read(ctx, req.Plan, &resp.Diagnostics)
	P(&prior).read(ctx, req.State, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	r.resolveUnknown(ctx, &plan, P(&plan).request(ctx, &prior, false, &resp.Diagnostics), resp.Private, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.State.Raw = req.Plan.Raw
		P(&plan).write(ctx, &resp.State, &resp.Diagnostics)
	}
}

// resolveUnknown sets the values that the plan left unknown, and stores the commit and the images. All
// values that a plan needs are known in an apply.
func (r *bundlesResource[M, P]) resolveUnknown(ctx context.Context, plan P, wanted *request, to privateStore, diags *diag.Diagnostics) {
	if wanted == nil || diags.HasError() {
		return
	}
	planned := planPrivate(ctx, to)
	commit := storedCommit(ctx, wanted.Git, planned, diags)
	wanted.Images = storedImages(ctx, planned, diags)
	wanted.Followed = wanted.followedVersions(ctx, planned, diags)
	wanted.Found = foundBefore(ctx, diags)
	found := plan.resolveUnknown(ctx, r.providerData, *wanted, commit, diags)
	if diags.HasError() {
		return
	}
	storeImages(ctx, to, storedImages(ctx, to, diags), found.images, diags)
	if commit = cmp.Or(found.commit, commit); commit != "" && commit != storedCommit(ctx, wanted.Git, to, diags) {
		storeCommit(ctx, wanted.Git, to, commit, diags)
	}
	diags.Append(to.SetKey(ctx, pinsKey, nil)...) // The bundles have the charts now.
}

// Delete has nothing to do: bundles are removed from clusters by their targets.
func (*bundlesResource[M, P]) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {
}

// ImportState reports that there is nothing to import.
func (r *bundlesResource[M, P]) ImportState(_ context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	diagnostics.Add(&resp.Diagnostics, report.NotImportable(typeName+"_"+string(r.ResourceName), req.ID))
}
