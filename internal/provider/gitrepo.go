package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
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
	TargetNamespace     types.String `tfsdk:"target_namespace"`
	ServiceAccount      types.String `tfsdk:"service_account"`
	Labels              types.Map    `tfsdk:"labels"`
	Paused              types.Bool   `tfsdk:"paused"`
	KeepResources       types.Bool   `tfsdk:"keep_resources"`
	DeleteNamespace     types.Bool   `tfsdk:"delete_namespace"`
	CorrectDrift        types.Object `tfsdk:"correct_drift"`
	HelmRepoURLRegex    types.String `tfsdk:"helm_repo_url_regex"`
	ForceSyncGeneration types.Int64  `tfsdk:"force_sync_generation"`
	Commit              types.String `tfsdk:"commit"`
	Bundles             types.Map    `tfsdk:"bundles"`
}

type bundlePathModel struct {
	Base    types.String `tfsdk:"base"`
	Options types.String `tfsdk:"options"`
}

// known says whether everything a plan needs is known.
func (m gitRepoModel) known(ctx context.Context) bool {
	return !anyUnknown(ctx, m.Name, m.Repo, m.Directory, m.Branch, m.Revision, m.Paths, m.BundlePaths, m.Submodules, m.Strict,
		m.TargetNamespace, m.ServiceAccount, m.Labels, m.Paused, m.KeepResources, m.DeleteNamespace, m.CorrectDrift, m.HelmRepoURLRegex, m.ForceSyncGeneration)
}

func (m gitRepoModel) checkout() checkout {
	return checkout{
		repo:       m.Repo.ValueString(),
		submodules: m.Submodules.ValueBool(),
		ref:        source.Ref{Branch: m.Branch.ValueString(), Revision: m.Revision.ValueString()},
	}
}

// generation leaves Terraform. prior is what the state holds.
func (m gitRepoModel) generation(ctx context.Context, prior gitRepoModel, diags *diag.Diagnostics) generation {
	g := generation{
		name:     m.Name.ValueString(),
		checkout: m.checkout(),
		at:       path.Root("repo"),
		spec: source.Spec{
			Directory:        m.Directory.ValueString(),
			HelmRepoURLRegex: m.HelmRepoURLRegex.ValueString(),
			Read: &bundle.ReadOptions{
				RepoName:    m.Name.ValueString(),
				Paths:       stringsOf(ctx, m.Paths, diags),
				BundlePaths: bundlePathsOf(ctx, m.BundlePaths, diags),
				Strict:      m.Strict.IsNull() || m.Strict.ValueBool(),
				Overlay:     m.overlay(ctx, diags),
			},
		},
		anew: !m.ForceSyncGeneration.Equal(prior.ForceSyncGeneration),
	}
	if m.Repo.IsNull() {
		g.at = path.Root("directory")
	}
	if prior.Repo.Equal(m.Repo) && prior.Directory.Equal(m.Directory) {
		g.known = elementsOf(prior.Bundles)
	}
	// What another branch was made from may be gone with it.
	if prior.checkout() == m.checkout() {
		g.prior = g.known
	}
	return g
}

func (m gitRepoModel) overlay(ctx context.Context, diags *diag.Diagnostics) bundle.Overlay {
	laid := bundle.Overlay{
		TargetNamespace:     m.TargetNamespace.ValueString(),
		ServiceAccount:      m.ServiceAccount.ValueString(),
		Labels:              stringMapOf(ctx, m.Labels, diags),
		Paused:              m.Paused.ValueBool(),
		KeepResources:       m.KeepResources.ValueBool(),
		DeleteNamespace:     m.DeleteNamespace.ValueBool(),
		ForceSyncGeneration: m.ForceSyncGeneration.ValueInt64(),
	}
	if !m.CorrectDrift.IsNull() {
		options, err := definition(map[string]attr.Value{"correct_drift": m.CorrectDrift})
		if err != nil {
			diags.AddAttributeError(path.Root("correct_drift"), "Invalid options", sentence(err))
		}
		laid.CorrectDrift = options.CorrectDrift
	}
	return laid
}

func bundlePathsOf(ctx context.Context, list types.List, diags *diag.Diagnostics) []bundle.Base {
	var paths []bundle.Base
	for _, value := range list.Elements() {
		var model bundlePathModel
		diags.Append(as(ctx, value, &model)...)
		paths = append(paths, bundle.Base{Base: model.Base.ValueString(), Options: model.Options.ValueString()})
	}
	return paths
}

// planGitRepo fills in the computed attributes of a plan. stored is the head of
// the branch that Read found, "" if it found none.
func (f *fleet) planGitRepo(ctx context.Context, plan *gitRepoModel, prior gitRepoModel, stored string, diags *diag.Diagnostics) {
	made := f.plan(ctx, plan.generation(ctx, prior, diags), stored, diags)
	if diags.HasError() || made.unknown {
		return
	}
	plan.Bundles = made.bundles
	switch {
	case plan.Repo.IsNull():
		plan.Commit = types.StringNull()
	case !made.changed && plan.checkout() == prior.checkout():
		plan.Commit = prior.Commit
	case made.pinned:
		plan.Commit = types.StringValue(made.commit)
	}
}

// settleGitRepo makes everything known that a plan left open. What the plan knew
// stays as it was planned.
func (f *fleet) settleGitRepo(ctx context.Context, plan *gitRepoModel, prior gitRepoModel, diags *diag.Diagnostics) {
	bundles, commit := f.settle(ctx, plan.generation(ctx, prior, diags), plan.Bundles, plan.Commit.ValueString(), diags)
	if diags.HasError() {
		return
	}
	plan.Bundles = bundles
	if plan.Commit.IsUnknown() {
		plan.Commit = types.StringValue(commit)
	}
	if plan.Repo.IsNull() {
		plan.Commit = types.StringNull()
	}
}
