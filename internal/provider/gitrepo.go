package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetschema"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

type gitRepoModel struct {
	Name                types.String `tfsdk:"name"`
	Repo                types.String `tfsdk:"repo"`
	Directory           types.String `tfsdk:"directory"`
	Branch              types.String `tfsdk:"branch"`
	Revision            types.String `tfsdk:"revision"`
	Paths               types.List   `tfsdk:"paths"`
	BundlePaths         types.List   `tfsdk:"bundle_paths"`
	Submodules          types.Bool   `tfsdk:"submodules"`
	Strict              types.Bool   `tfsdk:"strict"`
	HelmIgnore          types.Bool   `tfsdk:"helm_ignore"`
	ImageScans          types.Bool   `tfsdk:"image_scans"`
	TargetNamespace     types.String `tfsdk:"target_namespace"`
	ServiceAccount      types.String `tfsdk:"service_account"`
	Labels              types.Map    `tfsdk:"labels"`
	Paused              types.Bool   `tfsdk:"paused"`
	KeepResources       types.Bool   `tfsdk:"keep_resources"`
	DeleteNamespace     types.Bool   `tfsdk:"delete_namespace"`
	CorrectDrift        types.Object `tfsdk:"correct_drift"`
	Sources             types.List   `tfsdk:"sources"`
	HelmRepoURLRegex    types.String `tfsdk:"helm_repo_url_regex"`
	ForceSyncGeneration types.Int64  `tfsdk:"force_sync_generation"`
	Commit              types.String `tfsdk:"commit"`
	Bundles             types.Map    `tfsdk:"bundles"`
	Contents            types.Map    `tfsdk:"contents"`

	// hold is true if bundles that cannot be made stay as they are.
	hold bool
}

type bundlePathModel struct {
	Base    types.String `tfsdk:"base"`
	Options types.String `tfsdk:"options"`
}

// known reports whether all values that a plan needs are known.
func (m *gitRepoModel) known(ctx context.Context) bool {
	return !framework.AnyUnknown(ctx, m.Name, m.Repo, m.Directory, m.Branch, m.Revision, m.Paths, m.BundlePaths, m.Submodules, m.Strict,
		m.TargetNamespace, m.ServiceAccount, m.Labels, m.Paused, m.KeepResources, m.DeleteNamespace, m.CorrectDrift, m.Sources, m.HelmRepoURLRegex, m.HelmIgnore, m.ImageScans, m.ForceSyncGeneration)
}

func (m *gitRepoModel) git() source.GitSource {
	return source.GitSource{
		Repo:       m.Repo.ValueString(),
		Submodules: m.Submodules.IsNull() || m.Submodules.ValueBool(),
		Ref:        source.Ref{Branch: m.Branch.ValueString(), Revision: m.Revision.ValueString()},
	}
}

// requestOf converts from values of Terraform. prior is the model of the state.
func (m *gitRepoModel) requestOf(ctx context.Context, prior gitRepoModel, diags *diag.Diagnostics) request {
	r := request{name: m.Name.ValueString(), at: "repo", Request: source.Request{
		Git: m.git(),
		Spec: source.Spec{
			Directory:        m.Directory.ValueString(),
			Sources:          sourcesOf(ctx, m.Sources, diags),
			HelmRepoURLRegex: m.HelmRepoURLRegex.ValueString(),
			HelmIgnore:       m.HelmIgnore.IsNull() || m.HelmIgnore.ValueBool(),
			Read: &bundle.ReadOptions{
				RepoName:    m.Name.ValueString(),
				Paths:       framework.Strings(ctx, m.Paths, diags),
				BundlePaths: bundlePathsOf(ctx, m.BundlePaths, diags),
				Strict:      m.Strict.IsNull() || m.Strict.ValueBool(),
				Overlay:     m.overlay(ctx, diags),
				Hold:        m.hold,
				ImageScans:  m.ImageScans.ValueBool(),
			},
		},
		Refresh: !m.ForceSyncGeneration.Equal(prior.ForceSyncGeneration),
	}}
	if m.Repo.IsNull() {
		r.at = "directory"
	}
	if prior.Repo.Equal(m.Repo) && prior.Directory.Equal(m.Directory) {
		r.Known = elementsOf(prior.Bundles)
	}
	if m.hold {
		r.HoldBroken = elementsOf(prior.Bundles)
	}
	// After a change of the branch, the commits of the prior bundles may no longer exist. After a change
	// of sources, their descriptors have the former ones.
	if prior.git() == m.git() && prior.Sources.Equal(m.Sources) {
		r.Prior = r.Known
	}
	return r
}

func (m *gitRepoModel) overlay(ctx context.Context, diags *diag.Diagnostics) bundle.Overlay {
	laid := bundle.Overlay{
		TargetNamespace:     m.TargetNamespace.ValueString(),
		ServiceAccount:      m.ServiceAccount.ValueString(),
		Labels:              framework.StringMap(ctx, m.Labels, diags),
		Paused:              m.Paused.ValueBool(),
		KeepResources:       m.KeepResources.ValueBool(),
		DeleteNamespace:     m.DeleteNamespace.ValueBool(),
		ForceSyncGeneration: m.ForceSyncGeneration.ValueInt64(),
	}
	if !m.CorrectDrift.IsNull() {
		options, err := fleetschema.DefinitionOf(map[string]attr.Value{"correct_drift": m.CorrectDrift})
		if err != nil {
			diagnostics.Add(diags, report.InvalidSetting("correct_drift", "Invalid options", err))
		}
		laid.CorrectDrift = options.CorrectDrift
	}
	return laid
}

func bundlePathsOf(ctx context.Context, list types.List, diags *diag.Diagnostics) []bundle.Base {
	var paths []bundle.Base
	for _, value := range list.Elements() {
		var model bundlePathModel
		diags.Append(framework.As(ctx, value, &model)...)
		paths = append(paths, bundle.Base{Base: model.Base.ValueString(), Options: model.Options.ValueString()})
	}
	return paths
}

// resolve sets the values that a plan left unknown. Known values stay as planned. The returned commit is
// that of a followed branch.
func (m *gitRepoModel) resolve(ctx context.Context, f *providerData, r request, diags *diag.Diagnostics) lookedUp {
	follows := m.Commit.IsUnknown()
	bundles, settled := f.resolveUnknown(ctx, r, m.Bundles, m.Commit.ValueString(), diags)
	if diags.HasError() {
		return lookedUp{}
	}
	m.Bundles, m.Contents = bundles, contentsOf(bundles)
	if m.Repo.IsNull() {
		m.Commit = types.StringNull()
		return lookedUp{images: settled.Images}
	}
	if !follows {
		return lookedUp{images: settled.Images}
	}
	m.Commit = types.StringValue(settled.Commit)
	return lookedUp{commit: settled.Commit, images: settled.Images}
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
