package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
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
	resp.Schema = schema.Schema{
		MarkdownDescription: "Makes one bundle of a folder or of files given here, with its options in HCL instead of a fleet.yaml. " +
			"No cluster is touched: hand `bundles` to a `fleet_cluster_target`.",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the bundle.",
				Validators:          []validator.String{dnsLabel()},
			},
			"directory": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Folder with a Helm chart or manifests. Exactly one of `directory` and `files`.",
				Validators: []validator.String{
					stringvalidator.ExactlyOneOf(path.MatchRoot("directory"), path.MatchRoot("files")),
					stringvalidator.LengthAtLeast(1),
				},
			},
			"files": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Files of the bundle: path to content. They stand in state, so they are no place for secrets.",
				Validators:          []validator.Map{mapvalidator.SizeAtLeast(1)},
			},
			"labels": schema.MapAttribute{
				Optional: true, ElementType: types.StringType, MarkdownDescription: "Labels of the bundle.",
			},
			"default_namespace": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Namespace of the release, and of objects that name none.",
			},
			"namespace": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Namespace of the release and of all its objects; a cluster-scoped object is an error.",
			},
			"create_namespace": schema.BoolAttribute{
				Optional: true, MarkdownDescription: "Whether the namespace of the release is made. Default `true`.",
			},
			"force_sync_generation": schema.Int64Attribute{
				Optional: true, MarkdownDescription: "Another number deploys the bundle again.",
			},
			"helm": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "How the Helm release is made, as `helm` in fleet.yaml.",
				Attributes:          helmAttributes(),
			},
			"yaml": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Options for plain manifests, as `yaml` in fleet.yaml.",
				Attributes: map[string]schema.Attribute{
					"overlays": schema.ListAttribute{
						Optional: true, ElementType: types.StringType,
						MarkdownDescription: "Folders below `overlays/` that are laid over the manifests, in this order.",
					},
				},
			},
			"digest": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "Covers the files and options of the bundle.",
			},
			"bundles": bundlesAttribute(),
		},
	}
}

func helmAttributes() map[string]schema.Attribute {
	flag := func(description string) schema.BoolAttribute {
		return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"chart":        schema.StringAttribute{Optional: true, MarkdownDescription: "Folder of the chart inside the bundle. Default: the bundle itself."},
		"release_name": schema.StringAttribute{Optional: true, MarkdownDescription: "Name of the release. Default: made from the bundle's name."},
		"values": schema.StringAttribute{
			Optional: true, CustomType: yamlType{},
			MarkdownDescription: "Values as YAML or JSON, for example by `yamlencode`. `${ }` in them is a template over the cluster's facts (written `$${ }` in HCL).",
		},
		"values_files":           schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Files of the bundle with values; later ones win, and all win over `values`."},
		"template_values":        schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Top-level values made by a template each."},
		"timeout_seconds":        schema.Int64Attribute{Optional: true, MarkdownDescription: "How long to wait for the release's objects to be ready."},
		"max_history":            schema.Int64Attribute{Optional: true, MarkdownDescription: "Revisions kept, instead of the target's `max_history`."},
		"atomic":                 flag("Roll back when an install or upgrade fails."),
		"force":                  flag("Replace objects that cannot be changed."),
		"take_ownership":         flag("Adopt objects that exist already."),
		"wait_for_jobs":          flag("Wait until jobs are complete."),
		"disable_pre_process":    flag("Do not run `${ }` templates in values."),
		"disable_dns":            flag("Do not let templates look up host names."),
		"skip_schema_validation": flag("Do not check values against the chart's schema."),
	}
}

type bundleModel struct {
	Name                types.String `tfsdk:"name"`
	Directory           types.String `tfsdk:"directory"`
	Files               types.Map    `tfsdk:"files"`
	Labels              types.Map    `tfsdk:"labels"`
	DefaultNamespace    types.String `tfsdk:"default_namespace"`
	Namespace           types.String `tfsdk:"namespace"`
	CreateNamespace     types.Bool   `tfsdk:"create_namespace"`
	ForceSyncGeneration types.Int64  `tfsdk:"force_sync_generation"`
	Helm                types.Object `tfsdk:"helm"`
	YAML                types.Object `tfsdk:"yaml"`
	Digest              types.String `tfsdk:"digest"`
	Bundles             types.Map    `tfsdk:"bundles"`
}

type helmModel struct {
	Chart                types.String `tfsdk:"chart"`
	ReleaseName          types.String `tfsdk:"release_name"`
	Values               yamlValue    `tfsdk:"values"`
	ValuesFiles          types.List   `tfsdk:"values_files"`
	TemplateValues       types.Map    `tfsdk:"template_values"`
	TimeoutSeconds       types.Int64  `tfsdk:"timeout_seconds"`
	MaxHistory           types.Int64  `tfsdk:"max_history"`
	Atomic               types.Bool   `tfsdk:"atomic"`
	Force                types.Bool   `tfsdk:"force"`
	TakeOwnership        types.Bool   `tfsdk:"take_ownership"`
	WaitForJobs          types.Bool   `tfsdk:"wait_for_jobs"`
	DisablePreProcess    types.Bool   `tfsdk:"disable_pre_process"`
	DisableDNS           types.Bool   `tfsdk:"disable_dns"`
	SkipSchemaValidation types.Bool   `tfsdk:"skip_schema_validation"`
}

type yamlModel struct {
	Overlays types.List `tfsdk:"overlays"`
}

func (m bundleModel) known(ctx context.Context) bool {
	return !anyUnknown(ctx, m.Name, m.Directory, m.Files, m.Labels, m.DefaultNamespace, m.Namespace, m.CreateNamespace, m.ForceSyncGeneration, m.Helm, m.YAML)
}

// spec leaves Terraform.
func (m bundleModel) spec(ctx context.Context, diags *diag.Diagnostics) source.Spec {
	definition := fleetyaml.Definition{
		Labels: stringMapOf(ctx, m.Labels, diags),
		Options: fleetyaml.Options{
			DefaultNamespace:    m.DefaultNamespace.ValueString(),
			Namespace:           m.Namespace.ValueString(),
			ForceSyncGeneration: m.ForceSyncGeneration.ValueInt64(),
			CreateNamespace:     m.CreateNamespace.ValueBoolPointer(),
			Helm:                m.helm(ctx, diags),
		},
	}
	if !m.YAML.IsNull() {
		var options yamlModel
		diags.Append(as(ctx, m.YAML, &options)...)
		definition.YAML = &fleetyaml.YAML{Overlays: stringsOf(ctx, options.Overlays, diags)}
	}
	return source.Spec{
		Directory:  m.Directory.ValueString(),
		Files:      stringMapOf(ctx, m.Files, diags),
		Definition: &source.Definition{Name: m.Name.ValueString(), Options: definition},
	}
}

func (m bundleModel) helm(ctx context.Context, diags *diag.Diagnostics) *fleetyaml.Helm {
	if m.Helm.IsNull() {
		return nil
	}
	var model helmModel
	diags.Append(as(ctx, m.Helm, &model)...)
	values, err := model.Values.object()
	if err != nil {
		diags.AddAttributeError(path.Root("helm").AtName("values"), "Invalid values", sentence(err))
	}
	return &fleetyaml.Helm{
		Chart:                model.Chart.ValueString(),
		ReleaseName:          model.ReleaseName.ValueString(),
		Values:               values,
		ValuesFiles:          stringsOf(ctx, model.ValuesFiles, diags),
		TemplateValues:       stringMapOf(ctx, model.TemplateValues, diags),
		TimeoutSeconds:       int(model.TimeoutSeconds.ValueInt64()),
		MaxHistory:           int(model.MaxHistory.ValueInt64()),
		Atomic:               model.Atomic.ValueBool(),
		Force:                model.Force.ValueBool(),
		TakeOwnership:        model.TakeOwnership.ValueBool(),
		WaitForJobs:          model.WaitForJobs.ValueBool(),
		DisablePreProcess:    model.DisablePreProcess.ValueBool(),
		DisableDNS:           model.DisableDNS.ValueBool(),
		SkipSchemaValidation: model.SkipSchemaValidation.ValueBool(),
	}
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
	plan.Digest, plan.Bundles = types.StringUnknown(), types.MapUnknown(bundleObjectType())
	if plan.known(ctx) {
		r.generate(ctx, &plan, prior, &resp.Diagnostics)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

// generate fills in the computed attributes. It needs nothing but the
// configuration and the files it names, so plan and apply agree.
func (r *bundleResource) generate(ctx context.Context, plan *bundleModel, prior bundleModel, diags *diag.Diagnostics) {
	name := plan.Name.ValueString()
	spec := plan.spec(ctx, diags)
	if diags.HasError() {
		return
	}
	generated, problems, err := r.fleet.source.Generate(ctx, spec)
	addProblems(diags, name, problems)
	if err != nil {
		at := path.Root("directory")
		if plan.Directory.IsNull() {
			at = path.Root("files")
		}
		diags.AddAttributeError(at, "Cannot make bundle "+name, sentence(err)+"\n\nNothing was changed on any cluster.")
		return
	}
	kept := map[string]bundleElement{}
	if prior.Directory.Equal(plan.Directory) {
		kept = elementsOf(prior.Bundles)
	}
	elements, _ := merge(r.fleet.charts, generated, kept, true, diags)
	plan.Bundles = bundlesOf(elements)
	plan.Digest = elements[name].Digest
}

// settle makes everything known that the plan left open because something it
// needs was unknown.
func (r *bundleResource) settle(ctx context.Context, plan *bundleModel, diags *diag.Diagnostics) {
	if anyUnknown(ctx, plan.Digest, plan.Bundles) {
		r.generate(ctx, plan, bundleModel{}, diags)
	}
}

func (r *bundleResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan bundleModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.settle(ctx, &plan, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

// Read has nothing to look at: the bundle is made anew by each plan.
func (r *bundleResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (r *bundleResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan bundleModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.settle(ctx, &plan, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

// Delete has nothing to do: bundles are removed from clusters by their targets.
func (r *bundleResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
