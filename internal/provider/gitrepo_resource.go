package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var (
	_ resource.ResourceWithConfigure  = (*gitRepoResource)(nil)
	_ resource.ResourceWithModifyPlan = (*gitRepoResource)(nil)
)

// gitRepoResource makes bundles of a git repository. It touches no cluster.
type gitRepoResource struct {
	named
	configured
}

func newGitRepoResource() resource.Resource { return &gitRepoResource{named: named{"gitrepo"}} }

func (r *gitRepoResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Makes bundles of a git repository or a local folder, as Fleet's `GitRepo` does. " +
			"No cluster is touched: hand `bundles` to a `fleet_cluster_target`.",
		Attributes: gitRepoAttributes(),
	}
}

// gitRepoAttributes are those of the resource and of the data source alike.
func gitRepoAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required:            true,
			MarkdownDescription: "Name of the GitRepo. The names of its bundles begin with it.",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		},
		"repo": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "URL of the repository: `https://`, `http://`, `ssh://` or `user@host:path`. Exactly one of `repo` and `directory`.",
			Validators: []validator.String{
				stringvalidator.ExactlyOneOf(path.MatchRoot("repo"), path.MatchRoot("directory")),
				stringvalidator.LengthAtLeast(1),
			},
		},
		"directory": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "A local folder instead of a repository, such as a checkout. Plan and apply must see the same content.",
		},
		"branch": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Branch to follow. Without `branch` and `revision` the repository's default branch is followed. " +
				"What was planned is applied even when the branch has moved on, except by a saved plan that creates this resource: " +
				"pin that with the data source `fleet_gitrepo` or a full commit in `revision`.",
			Validators: []validator.String{
				stringvalidator.ConflictsWith(path.MatchRoot("revision"), path.MatchRoot("directory")),
				stringvalidator.LengthAtLeast(1),
			},
		},
		"revision": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Commit or tag.",
			Validators: []validator.String{
				stringvalidator.ConflictsWith(path.MatchRoot("directory")),
				stringvalidator.LengthAtLeast(1),
			},
		},
		"paths": schema.ListAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Folders to look for bundles in; `*`, `?` and `[]` match names. Default: the root.",
		},
		"bundle_paths": schema.ListNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Folders that are one bundle each, instead of `paths`; nothing is looked for below them.",
			Validators: []validator.List{
				listvalidator.SizeAtLeast(1),
				listvalidator.ConflictsWith(path.MatchRoot("paths")),
			},
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"base":    schema.StringAttribute{Optional: true, MarkdownDescription: "The folder. Required.", Validators: []validator.String{required()}},
				"options": textAttribute("File with the options, relative to `base`. Default: its fleet.yaml."),
			}},
		},
		"submodules": flagAttribute("Whether submodules are read too, each with the credentials for its own URL. Default `false`: they are empty folders."),
		"strict": schema.BoolAttribute{
			Optional:            true,
			MarkdownDescription: "Whether an unknown key in a fleet.yaml is an error. Default `true`; `false` makes it a warning.",
		},
		"target_namespace": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Namespace that all objects of all bundles are put into.",
		},
		"service_account":  textAttribute("Service account that all releases are installed as."),
		"labels":           textMapAttribute("Labels of all bundles."),
		"paused":           flagAttribute("Hold all bundles back: changes are planned as held."),
		"keep_resources":   flagAttribute("Leave objects on a cluster when a bundle leaves it."),
		"delete_namespace": flagAttribute("Delete the namespace of a release when the bundle leaves the cluster."),
		"correct_drift":    objectAttribute("Whether changes made on clusters are taken back.", correctDriftAttributes()),
		"helm_repo_url_regex": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Credentials of the provider's `registries` are used only for charts whose repository, or address, begins with a match of this expression. " +
				"Default: for all that `registries` has an entry for.",
			Validators: []validator.String{regularExpression()},
		},
		"force_sync_generation": schema.Int64Attribute{
			Optional:            true,
			MarkdownDescription: "Another number deploys all bundles again, and looks again for the newest charts that version constraints allow.",
		},
		"commit": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "The commit whose content was last found to change a bundle. Null for a `directory`.",
		},
		"bundles": bundlesAttribute(),
	}
}

func (r *gitRepoResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.fleet == nil {
		return
	}
	var plan, prior gitRepoModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	plan.Commit, plan.Bundles = types.StringUnknown(), types.MapUnknown(bundleObjectType())
	if plan.known(ctx) {
		// A replacement is created without what is kept beside the state, so it is
		// planned without.
		stored := ""
		if !req.State.Raw.IsNull() {
			stored = plan.checkout().stored(ctx, req.Private, &resp.Diagnostics)
		}
		r.fleet.planGitRepo(ctx, &plan, prior, stored, &resp.Diagnostics)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

func (r *gitRepoResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan gitRepoModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.settle(ctx, &plan, gitRepoModel{}, resp.Private, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

func (r *gitRepoResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state gitRepoModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() || r.fleet == nil {
		return
	}
	r.fleet.refresh(ctx, state.checkout(), state.Name.ValueString(), req.Private, resp.Private, &resp.Diagnostics)
}

func (r *gitRepoResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, prior gitRepoModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.settle(ctx, &plan, prior, resp.Private, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

// settle makes the plan known and remembers where the branch was.
func (r *gitRepoResource) settle(ctx context.Context, plan *gitRepoModel, prior gitRepoModel, private privateWriter, diags *diag.Diagnostics) {
	followed := plan.Commit.IsUnknown()
	r.fleet.settleGitRepo(ctx, plan, prior, diags)
	if followed && !plan.Commit.IsNull() && !plan.Commit.IsUnknown() {
		plan.checkout().store(ctx, private, plan.Commit.ValueString(), diags)
	}
}

// Delete has nothing to do: bundles are removed from clusters by their targets.
func (r *gitRepoResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
