package provider

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var (
	_ resource.ResourceWithConfigure  = (*bundleResource)(nil)
	_ resource.ResourceWithModifyPlan = (*bundleResource)(nil)
)

// bundleResource makes one bundle whose options stand in HCL. It touches no
// cluster.
type bundleResource struct {
	named
	configured
}

func newBundleResource() resource.Resource { return &bundleResource{named: named{"bundle"}} }

func (r *bundleResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required:            true,
			MarkdownDescription: "Name of the bundle.",
			Validators:          []validator.String{dnsLabel()},
		},
		"chart": schema.SingleNestedAttribute{
			Optional: true,
			MarkdownDescription: "A Helm chart that is kept elsewhere: `repo`, `name` and `version` of a Helm repository; an `oci://` address as `repo`; " +
				"or the URL of an archive or of a git repository as `name`. Exactly one of `chart`, `git`, `directory` and `files`.",
			Attributes: map[string]schema.Attribute{
				"repo": textAttribute("URL of a Helm repository, or `oci://` with the name of the chart at its end."),
				"name": textAttribute("Name of the chart in the repository, or the URL of an archive, or of a git repository with `git::` before it."),
				"version": textAttribute("Version, or a constraint such as `~4.11`. The newest version it allows is looked up once, pinned and shown in `bundles`; " +
					"another `version` or `force_sync_generation` looks again."),
			},
			Validators: oneSource(),
		},
		"git": schema.SingleNestedAttribute{
			Optional:            true,
			MarkdownDescription: "A folder of a git repository, with a Helm chart or manifests and without a fleet.yaml.",
			Attributes: map[string]schema.Attribute{
				"repo":     schema.StringAttribute{Required: true, MarkdownDescription: "URL of the repository.", Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
				"revision": textAttribute("Commit, tag or branch. Default: the repository's default branch. A branch is followed."),
				"path":     textAttribute("The folder. Default: the root."),
			},
		},
		"directory": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Local folder with a Helm chart or manifests and without a fleet.yaml. Plan and apply must see the same content.",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		},
		"files": schema.MapAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Files of the bundle: path to content. They stand in state, so they are no place for secrets.",
			Validators:          []validator.Map{mapvalidator.SizeAtLeast(1)},
		},
		"digest": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "Covers the files and options of the bundle.",
		},
		"bundles": bundlesAttribute(),
	}
	maps.Copy(attributes, definitionAttributes())
	maps.Copy(attributes, optionAttributes())
	resp.Schema = schema.Schema{
		MarkdownDescription: "Makes one bundle of a chart, of a folder or of files given here, with its options in HCL instead of a fleet.yaml. " +
			"No cluster is touched: hand `bundles` to a `fleet_cluster_target`.",
		Attributes: attributes,
	}
}

// oneSource wants exactly one of the attributes that say what a bundle is made of.
func oneSource() []validator.Object {
	return []validator.Object{objectvalidator.ExactlyOneOf(
		path.MatchRoot("chart"), path.MatchRoot("git"), path.MatchRoot("directory"), path.MatchRoot("files"))}
}

func (r *bundleResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.fleet == nil {
		return
	}
	var plan, prior bundleModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	plan.leaveOpen()
	if plan.known(ctx) {
		// A replacement is created without what is kept beside the state, so it is
		// planned without.
		stored := ""
		if !req.State.Raw.IsNull() {
			stored = plan.checkout(ctx, &resp.Diagnostics).stored(ctx, req.Private, &resp.Diagnostics)
		}
		r.fleet.planBundle(ctx, &plan, prior, stored, &resp.Diagnostics)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

func (r *bundleResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan bundleModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.settle(ctx, &plan, bundleModel{}, "", resp.Private, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

// Read looks where the branch is that a bundle follows. Everything else of a
// bundle is made anew by each plan.
func (r *bundleResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state bundleModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() || r.fleet == nil {
		return
	}
	r.fleet.refresh(ctx, state.checkout(ctx, &resp.Diagnostics), state.Name.ValueString(), req.Private, resp.Private, &resp.Diagnostics)
}

func (r *bundleResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, prior bundleModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	stored := plan.checkout(ctx, &resp.Diagnostics).stored(ctx, req.Private, &resp.Diagnostics)
	r.settle(ctx, &plan, prior, stored, resp.Private, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

// settle makes the plan known and remembers where a branch was. stored is where
// it was when it was planned, "" if that was not kept.
func (r *bundleResource) settle(ctx context.Context, plan *bundleModel, prior bundleModel, stored string, private privateWriter, diags *diag.Diagnostics) {
	if !anyUnknown(ctx, plan.Digest, plan.Bundles) {
		return
	}
	commit := r.fleet.settleBundle(ctx, plan, prior, stored, diags)
	followed := plan.checkout(ctx, diags)
	if !diags.HasError() && commit != stored && !followed.none() && followed.fixed() == "" {
		followed.store(ctx, private, commit, diags)
	}
}

// Delete has nothing to do: bundles are removed from clusters by their targets.
func (r *bundleResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
