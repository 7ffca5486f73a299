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

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetschema"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

var (
	_ resource.ResourceWithConfigure  = (*gitRepoResource)(nil)
	_ resource.ResourceWithModifyPlan = (*gitRepoResource)(nil)
)

// gitRepoResource makes bundles of a git repository. It touches no cluster.
type gitRepoResource struct {
	bundlesResource[gitRepoResourceModel, *gitRepoResourceModel]
}

func newGitRepoResource() resource.Resource {
	return &gitRepoResource{bundlesResource[gitRepoResourceModel, *gitRepoResourceModel]{ResourceName: "gitrepo"}}
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

func (m *gitRepoResourceModel) read(ctx context.Context, from modelReader, diags *diag.Diagnostics) {
	diags.Append(from.Get(ctx, m)...)
}

func (m *gitRepoResourceModel) write(ctx context.Context, to modelWriter, diags *diag.Diagnostics) {
	diags.Append(to.Set(ctx, m)...)
}

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

// request holds no bundles for a create, because a create has no earlier bundles. A bundle that is
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

func (m *gitRepoResourceModel) setPlanned(planned *source.Planned, prior *gitRepoResourceModel) {
	m.Commit, m.Bundles, m.Contents = types.StringUnknown(), types.MapUnknown(bundleObjectType()), types.MapUnknown(types.StringType)
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

// gitRepoAttributes are the attributes of both the resource and the data source.
func gitRepoAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": framework.RequiredString("Name of the GitRepo. The names of its bundles begin with it.", stringvalidator.LengthAtLeast(1)),
		"repo": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "URL of the repository: `https://`, `http://`, `ssh://` or `user@host:path`. Exactly one of `repo` and `directory`.",
			Validators: []validator.String{
				stringvalidator.ExactlyOneOf(path.MatchRoot("repo"), path.MatchRoot("directory")),
				stringvalidator.LengthAtLeast(1),
			},
		},
		"directory": framework.OptionalString("A local folder instead of a repository, such as a checkout. Plan and apply must see the same content."),
		"branch": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Branch to follow. Without `branch` and `revision` the repository's default branch is followed. " +
				"The planned commit is applied even if the branch has moved since. Before Terraform 1.16 the exception is a saved plan that creates this resource: " +
				"pin the commit with the data source `fleet_gitrepo` or a full commit in `revision`.",
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
		"paths": framework.OptionalStrings("Folders to search for bundles; `*`, `?` and `[]` match names. Default: the root."),
		"bundle_paths": schema.ListNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Folders that are one bundle each, instead of `paths`. Their subfolders are not searched.",
			Validators: []validator.List{
				listvalidator.SizeAtLeast(1),
				listvalidator.ConflictsWith(path.MatchRoot("paths")),
			},
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"base":    framework.OptionalString("The folder. Required.", framework.Required{}),
				"options": framework.OptionalString("File with the options, relative to `base`. Default: its fleet.yaml."),
			}},
		},
		"submodules":  submodulesAttribute(),
		"strict":      framework.OptionalBool("Whether an unknown key in a fleet.yaml is an error. Default `true`; `false` makes it a warning."),
		"helm_ignore": helmIgnoreAttribute(),
		"image_scans": framework.OptionalBool("Whether `imageScans` of fleet.yaml files count. Each refresh looks for the newest tags, and lines that are marked with a `tagName` get them. Nothing is written to the repository. " +
			"Default `false`: they are an error, as in a Fleet that scans no images. The guide *Images by policy* has an example."),
		"target_namespace": framework.OptionalString("Namespace for all objects of all bundles."),
		"service_account":  framework.OptionalString("Service account that installs all releases."),
		"labels":           framework.OptionalStringMap("Labels of all bundles."),
		"paused":           framework.OptionalBool("Pause all bundles: changes are planned as held."),
		"keep_resources":   framework.OptionalBool("Keep objects when a bundle is removed from a cluster."),
		"delete_namespace": framework.OptionalBool("Delete the namespace of a release when the bundle is removed from the cluster."),
		"correct_drift": framework.OptionalObject("Whether an apply corrects drift. With `enabled = true` it replaces `correctDrift` of all bundles, as in Fleet. "+
			"With `enabled = false` it applies to bundles that do not set `correctDrift.enabled`. Without `enabled` it has no effect.", fleetschema.CorrectDrift()),
		"sources": sourcesAttribute("the repository"),
		"helm_repo_url_regex": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Where credentials may be sent; `sources` is about what may be fetched at all. Credentials of the provider's `registries` are used only for charts whose repository, or address, begins with a match of this expression, and for images of `imageScans` whose address does, such as `oci://docker.io/library/nginx`. " +
				"Default: for all addresses that have an entry in `registries`.",
			Validators: []validator.String{framework.RegularExpression()},
		},
		"force_sync_generation": schema.Int64Attribute{
			Optional:            true,
			MarkdownDescription: "A changed number makes a new revision of each release, and resolves the version constraints of charts again. Pods whose objects do not change are not restarted.",
		},
		"commit":   framework.ComputedString("The last commit whose content changed a bundle. Null for a `directory`."),
		"bundles":  bundlesAttribute(),
		"contents": contentsAttribute(),
	}
}

func submodulesAttribute() schema.BoolAttribute {
	return framework.OptionalBool("Whether submodules are read, including nested submodules, as in Fleet. `sources` says which of them are read with the credentials for their own URL. " +
		"Default `true`. With `false` their folders are empty.")
}

// helmIgnoreAttribute is the attribute of all resources that read files.
func helmIgnoreAttribute() schema.BoolAttribute {
	return schema.BoolAttribute{
		Optional: true,
		MarkdownDescription: "Whether a `.helmignore` beside the Chart.yaml of a chart in the source excludes files from the chart, as with Helm's command. " +
			"Default `true`. Fleet does not read it, because hidden files are not part of a bundle; `false` behaves like Fleet. " +
			"Packed charts and charts of a repository or registry are used as they were packed.",
	}
}
