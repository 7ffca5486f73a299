package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

var (
	_ resource.ResourceWithConfigure   = (*gitRepoResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*gitRepoResource)(nil)
	_ resource.ResourceWithImportState = (*gitRepoResource)(nil)
)

// gitRepoResource makes bundles of a git repository. It touches no cluster.
type gitRepoResource struct {
	framework.ResourceName
	configured
}

func newGitRepoResource() resource.Resource {
	return &gitRepoResource{ResourceName: "gitrepo"}
}

func (r *gitRepoResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Builds bundles from a git repository or a local folder, as Fleet's `GitRepo` does. " +
			"It changes no cluster: pass `bundles` to a `fleet_cluster_target`.",
		Attributes: gitRepoAttributes(),
	}
	resp.Schema.Attributes["on_error"] = onErrorAttribute("What a plan does when a bundle cannot be built: its fleet.yaml is wrong, a file is missing, or its chart cannot be fetched. `stop` (default): the plan fails. " +
		"`hold`: the bundle stays as it was last built, and the plan warns with the cause. A new bundle is left out. No bundle is removed while another cannot be built. " +
		"A `fleet_gitrepo` that is created or replaced always stops, because it has no earlier bundles. " +
		"A target that reads the bundle also needs `on_error = \"hold\"` if the former content no longer exists, as with `directory`.")
	resp.Schema.Attributes["follow_charts"] = framework.OptionalString("What becomes of charts whose `helm.version` in a fleet.yaml is a constraint. `pinned` (default): the version that was found first stays. "+
		"`constraint`: each refresh looks for a newer version that the constraint allows, and the next plan shows it as a change. It never moves to an older one. "+
		"If versions of a chart cannot be listed, its version stays, and a warning says so.", stringvalidator.OneOf(followPinned, followConstraint))
}

// gitRepoResourceModel is the model of the resource. The data source has no state with bundles that
// could be held.
type gitRepoResourceModel struct {
	gitRepoModel

	OnError      types.String `tfsdk:"on_error"`
	FollowCharts types.String `tfsdk:"follow_charts"`
}

// ModifyPlan makes the bundles.
func (r *gitRepoResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.providerData == nil {
		return
	}
	var plan, prior gitRepoResourceModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	creates := req.State.Raw.IsNull()
	if !creates {
		resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	planned := r.providerData.planBundles(ctx, plan.request(ctx, &prior, creates, &resp.Diagnostics), req, resp)
	plan.setPlanned(planned, &prior)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

// Create sets the values that the plan left unknown.
func (r *gitRepoResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.write(ctx, req.Plan, nil, resp.Private, &resp.State, &resp.Diagnostics)
}

// Read looks up the commit of a followed branch and the newest image tags and chart versions. Each
// plan makes everything else.
func (r *gitRepoResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state gitRepoResourceModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() || r.providerData == nil {
		return
	}
	state.follows(ctx, &resp.Diagnostics).refresh(ctx, r.providerData.source, req.Private, resp.Private, &resp.Diagnostics)
}

// Update sets the values that the plan left unknown.
func (r *gitRepoResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.write(ctx, req.Plan, &req.State, resp.Private, &resp.State, &resp.Diagnostics)
}

// write stores a plan, with the values that it left unknown. before is nil for a create.
func (r *gitRepoResource) write(ctx context.Context, from tfsdk.Plan, before *tfsdk.State, private privateStore, to *tfsdk.State, diags *diag.Diagnostics) {
	var plan, prior gitRepoResourceModel
	diags.Append(from.Get(ctx, &plan)...)
	if before != nil {
		diags.Append(before.Get(ctx, &prior)...)
	}
	if diags.HasError() {
		return
	}
	plan.resolveUnknown(ctx, r.providerData, plan.request(ctx, &prior, before == nil, diags), private, diags)
	if !diags.HasError() {
		diags.Append(to.Set(ctx, &plan)...)
	}
}

// Delete has nothing to do: bundles are removed from clusters by their targets.
func (*gitRepoResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// ImportState reports that there is nothing to import.
func (r *gitRepoResource) ImportState(_ context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	diagnostics.Add(&resp.Diagnostics, report.NotImportable(typeName+"_"+string(r.ResourceName), req.ID))
}

// follows returns what a refresh looks up.
func (m *gitRepoResourceModel) follows(ctx context.Context, diags *diag.Diagnostics) followed {
	of := followed{
		name: m.Name.ValueString(), git: m.git(),
		spec: source.Spec{Sources: sourcesOf(ctx, m.Sources, diags), HelmRepoURLRegex: m.HelmRepoURLRegex.ValueString()},
	}
	if m.FollowCharts.ValueString() != followConstraint {
		return of
	}
	charts, err := source.ChartsToFollow(elementsOf(m.Bundles))
	if err != nil {
		diagnostics.Add(diags, report.NoNewCharts(of.name, err))
	}
	of.charts = charts
	return of
}

// request returns what the bundles are made from, nil if a value that a plan needs is not known yet. It
// holds no bundles for a create, because a create has no earlier bundles. A bundle that is
// left out could cause the removal of what a replaced resource has made.
func (m *gitRepoResourceModel) request(ctx context.Context, prior *gitRepoResourceModel, creates bool, diags *diag.Diagnostics) *request {
	if !m.known(ctx) || m.OnError.IsUnknown() || m.FollowCharts.IsUnknown() {
		return nil
	}
	m.hold = !creates && m.OnError.ValueString() == onErrorHold
	r := m.requestOf(ctx, prior.gitRepoModel, diags)
	r.follows = m.FollowCharts.ValueString() == followConstraint
	return &r
}

// setPlanned sets the computed attributes of a plan. planned is nil if bundles are not known yet.
func (m *gitRepoResourceModel) setPlanned(planned *source.Planned, prior *gitRepoResourceModel) {
	m.Commit = types.StringUnknown()
	m.Bundles = types.MapUnknown(bundleObjectType())
	m.Contents = types.MapUnknown(types.StringType)
	if planned == nil {
		return
	}
	m.Bundles = bundlesOf(planned.Elements)
	m.Contents = contentsOf(m.Bundles)
	switch {
	case m.Repo.IsNull():
		m.Commit = types.StringNull()
	case !planned.Changed && m.git() == prior.git():
		m.Commit = prior.Commit
	case planned.Pinned:
		m.Commit = types.StringValue(planned.Commit)
	}
}

// resolveUnknown sets the values that a plan left unknown, and stores what was found.
func (m *gitRepoResourceModel) resolveUnknown(ctx context.Context, f *providerData, wanted *request, private privateStore, diags *diag.Diagnostics) {
	if wanted == nil || diags.HasError() {
		return
	}
	commit := wanted.addPinned(ctx, planPrivate(ctx, private), diags)
	found := m.resolve(ctx, f, *wanted, diags)
	if !diags.HasError() {
		wanted.storePinned(ctx, private, commit, found, diags)
	}
}
