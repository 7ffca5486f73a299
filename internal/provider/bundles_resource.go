package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
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
	// settle sets the values that a plan left unknown. stored is the commit in private state, "" if
	// there is none. It returns what has to be stored in private state.
	settle(ctx context.Context, f *providerData, r request, stored string, diags *diag.Diagnostics) lookedUp
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
		// Terraform passes no private state to the create of a replacement, so its plan does not
		// use private state either.
		stored := ""
		if !creates {
			stored = storedCommit(ctx, wanted.Git, req.Private, &resp.Diagnostics)
			wanted.Images = storedImages(ctx, req.Private, &resp.Diagnostics)
			wanted.Followed = wanted.followedVersions(ctx, req.Private, &resp.Diagnostics)
		}
		planned = r.providerData.plan(ctx, *wanted, stored, &resp.Diagnostics)
		if planned != nil {
			storeImages(ctx, resp.Private, wanted.Images, planned.Images, &resp.Diagnostics)
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
	r.settle(ctx, &plan, P(&plan).request(ctx, &prior, true, &resp.Diagnostics), "", resp.Private, &resp.Diagnostics)
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
	stored := storedCommit(ctx, P(&plan).follows(ctx, &resp.Diagnostics).git, req.Private, &resp.Diagnostics)
	wanted := P(&plan).request(ctx, &prior, false, &resp.Diagnostics)
	if wanted != nil {
		wanted.Followed = wanted.followedVersions(ctx, req.Private, &resp.Diagnostics)
	}
	r.settle(ctx, &plan, wanted, stored, resp.Private, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.State.Raw = req.Plan.Raw
		P(&plan).write(ctx, &resp.State, &resp.Diagnostics)
	}
}

// settle sets the values that the plan left unknown, and stores the commit and the images. All
// values that a plan needs are known in an apply. private contains what the plan stored.
func (r *bundlesResource[M, P]) settle(ctx context.Context, plan P, wanted *request, stored string, private privateStore, diags *diag.Diagnostics) {
	if wanted == nil || diags.HasError() {
		return
	}
	wanted.Images = storedImages(ctx, private, diags)
	found := plan.settle(ctx, r.providerData, *wanted, stored, diags)
	if diags.HasError() {
		return
	}
	storeImages(ctx, private, wanted.Images, found.images, diags)
	if found.commit != "" {
		storeCommit(ctx, wanted.Git, private, found.commit, diags)
	}
}

// Delete has nothing to do: bundles are removed from clusters by their targets.
func (*bundlesResource[M, P]) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {
}

// ImportState reports that there is nothing to import.
func (r *bundlesResource[M, P]) ImportState(_ context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	diagnostics.Add(&resp.Diagnostics, report.NotImportable(typeName+"_"+string(r.ResourceName), req.ID))
}
