package provider

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetschema"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

var (
	_ resource.ResourceWithConfigure   = (*bundleResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*bundleResource)(nil)
	_ resource.ResourceWithImportState = (*bundleResource)(nil)
)

// bundleResource makes one bundle with its options in HCL. It touches no cluster.
type bundleResource struct {
	framework.ResourceName
	configured
}

func newBundleResource() resource.Resource {
	return &bundleResource{ResourceName: "bundle"}
}

func (r *bundleResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := map[string]schema.Attribute{
		"name": framework.RequiredString("Name of the bundle.", framework.DNSLabel()),
		"chart": schema.SingleNestedAttribute{
			Optional: true,
			MarkdownDescription: "A Helm chart of a repository or registry: `repo`, `name` and `version` of a Helm repository; an `oci://` address as `repo`; " +
				"or the URL of an archive or of a git repository as `name`. Exactly one of `chart`, `git`, `directory` and `files`.",
			Attributes: map[string]schema.Attribute{
				"repo": framework.OptionalString("URL of a Helm repository, or `oci://` with the name of the chart at its end."),
				"name": framework.OptionalString("Name of the chart in the repository, or the URL of an archive, or of a git repository with `git::` before it."),
				"version": framework.OptionalString("Version, or a constraint such as `~4.11`. The newest version that it allows is resolved once, pinned and shown in `contents`. " +
					"Changing `version` or `force_sync_generation` resolves it again."),
				"follow": framework.OptionalString("`pinned` (default): the version stays. `constraint`: each refresh looks for a newer version that `version` allows, and the next plan shows it as a change. "+
					"It never moves to an older one. If versions cannot be listed, the version stays, and a warning says so.", stringvalidator.OneOf(followPinned, followConstraint)),
			},
			Validators: append(oneSource(), framework.Criteria{"repo", "name"}),
		},
		"git": schema.SingleNestedAttribute{
			Optional:            true,
			MarkdownDescription: "A folder of a git repository, with a Helm chart or manifests and without a fleet.yaml.",
			Attributes: map[string]schema.Attribute{
				"repo":       framework.RequiredString("URL of the repository.", stringvalidator.LengthAtLeast(1)),
				"revision":   framework.OptionalString("Commit, tag or branch. Default: the repository's default branch. A branch is followed."),
				"path":       framework.OptionalString("The folder. Default: the root."),
				"submodules": submodulesAttribute(),
			},
		},
		"helm_ignore": helmIgnoreAttribute(),
		"sources":     sourcesAttribute("the bundle"),
		"directory": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Local folder with a Helm chart or manifests and without a fleet.yaml. Plan and apply must see the same content.",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		},
		"files": schema.MapAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Files of the bundle: path to content. They are stored in state, so do not put secrets in them.",
			Validators:          []validator.Map{mapvalidator.SizeAtLeast(1)},
		},
		"digest":   framework.ComputedString("Digest of the files and options of the bundle."),
		"bundles":  bundlesAttribute(),
		"contents": contentsAttribute(),
	}
	maps.Copy(attributes, fleetschema.Definition())
	maps.Copy(attributes, fleetschema.Options())
	resp.Schema = schema.Schema{
		MarkdownDescription: "Builds one bundle from a chart, from a folder or from files given here, with its options in HCL instead of a fleet.yaml. " +
			"It changes no cluster: pass `bundles` to a `fleet_cluster_target`.",
		Attributes: attributes,
	}
}

// oneSource requires exactly one of the attributes that can be the source of a bundle.
func oneSource() []validator.Object {
	return []validator.Object{objectvalidator.ExactlyOneOf(
		path.MatchRoot("chart"), path.MatchRoot("git"), path.MatchRoot("directory"), path.MatchRoot("files"))}
}

// bundleModel has a field for each attribute that the provider itself uses. All other attributes
// are options of a fleet.yaml.
type bundleModel struct {
	Name                types.String
	Chart               types.Object
	Git                 types.Object
	Directory           types.String
	Files               types.Map
	HelmIgnore          types.Bool
	Sources             types.List
	ForceSyncGeneration types.Int64
	Digest              types.String
	Bundles             types.Map
	Contents            types.Map

	// options are the attributes with the names of fleet.yaml options.
	options map[string]attr.Value
	// was contains the computed attributes as they were read.
	was map[string]attr.Value
}

// ModifyPlan makes the bundles.
func (r *bundleResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.providerData == nil {
		return
	}
	var plan, prior bundleModel
	plan.read(ctx, req.Plan, &resp.Diagnostics)
	if !req.State.Raw.IsNull() {
		prior.read(ctx, req.State, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	planned := r.providerData.planBundles(ctx, plan.request(ctx, &prior, &resp.Diagnostics), req, resp)
	plan.setPlanned(planned)
	if !resp.Diagnostics.HasError() {
		plan.write(ctx, &resp.Plan, &resp.Diagnostics)
	}
}

// Create sets the values that the plan left unknown.
func (r *bundleResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.write(ctx, req.Plan, &bundleModel{}, resp.Private, &resp.State, &resp.Diagnostics)
}

// Read looks up the commit of a followed branch and the newest version of a followed chart. Each plan
// makes everything else.
func (r *bundleResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state bundleModel
	state.read(ctx, req.State, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || r.providerData == nil {
		return
	}
	state.follows(ctx, &resp.Diagnostics).refresh(ctx, r.providerData.source, req.Private, resp.Private, &resp.Diagnostics)
}

// Update sets the values that the plan left unknown.
func (r *bundleResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var prior bundleModel
	prior.read(ctx, req.State, &resp.Diagnostics)
	r.write(ctx, req.Plan, &prior, resp.Private, &resp.State, &resp.Diagnostics)
}

// write stores a plan, with the values that it left unknown.
func (r *bundleResource) write(ctx context.Context, from tfsdk.Plan, prior *bundleModel, private privateStore, to *tfsdk.State, diags *diag.Diagnostics) {
	var plan bundleModel
	plan.read(ctx, from, diags)
	if diags.HasError() {
		return
	}
	plan.resolveUnknown(ctx, r.providerData, plan.request(ctx, prior, diags), private, diags)
	if !diags.HasError() {
		to.Raw = from.Raw
		plan.write(ctx, to, diags)
	}
}

// Delete has nothing to do: bundles are removed from clusters by their targets.
func (*bundleResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// ImportState reports that there is nothing to import.
func (r *bundleResource) ImportState(_ context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	diagnostics.Add(&resp.Diagnostics, report.NotImportable(typeName+"_"+string(r.ResourceName), req.ID))
}
