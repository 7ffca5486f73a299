package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
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

// resolveUnknown sets the values that a plan left unknown. Known values stay as planned. The returned
// commit is that of a followed branch.
func (m *gitRepoModel) resolveUnknown(ctx context.Context, f *providerData, r request, _ string, diags *diag.Diagnostics) lookedUp {
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
