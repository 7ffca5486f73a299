package provider

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

type bundleModel struct {
	Name      types.String `tfsdk:"name"`
	Chart     types.Object `tfsdk:"chart"`
	Git       types.Object `tfsdk:"git"`
	Directory types.String `tfsdk:"directory"`
	Files     types.Map    `tfsdk:"files"`

	Labels                  types.Map    `tfsdk:"labels"`
	Annotations             types.Map    `tfsdk:"annotations"`
	Paused                  types.Bool   `tfsdk:"paused"`
	DependsOnBundles        types.List   `tfsdk:"depends_on_bundles"`
	RolloutStrategy         types.Object `tfsdk:"rollout_strategy"`
	TargetCustomizations    types.List   `tfsdk:"target_customizations"`
	TargetCustomizationMode types.String `tfsdk:"target_customization_mode"`
	OverrideTargets         types.List   `tfsdk:"override_targets"`

	DefaultNamespace     types.String `tfsdk:"default_namespace"`
	Namespace            types.String `tfsdk:"namespace"`
	NamespaceLabels      types.Map    `tfsdk:"namespace_labels"`
	NamespaceAnnotations types.Map    `tfsdk:"namespace_annotations"`
	CreateNamespace      types.Bool   `tfsdk:"create_namespace"`
	Helm                 types.Object `tfsdk:"helm"`
	Kustomize            types.Object `tfsdk:"kustomize"`
	YAML                 types.Object `tfsdk:"yaml"`
	Diff                 types.Object `tfsdk:"diff"`
	Ignore               types.Object `tfsdk:"ignore"`
	CorrectDrift         types.Object `tfsdk:"correct_drift"`
	ServiceAccount       types.String `tfsdk:"service_account"`
	ForceSyncGeneration  types.Int64  `tfsdk:"force_sync_generation"`
	KeepResources        types.Bool   `tfsdk:"keep_resources"`
	DeleteNamespace      types.Bool   `tfsdk:"delete_namespace"`
	DeleteCRDResources   types.Bool   `tfsdk:"delete_crd_resources"`

	Digest  types.String `tfsdk:"digest"`
	Bundles types.Map    `tfsdk:"bundles"`
}

type chartModel struct {
	Repo    types.String `tfsdk:"repo"`
	Name    types.String `tfsdk:"name"`
	Version types.String `tfsdk:"version"`
}

type bundleGitModel struct {
	Repo     types.String `tfsdk:"repo"`
	Revision types.String `tfsdk:"revision"`
	Path     types.String `tfsdk:"path"`
}

// options are the attributes that are called as in a fleet.yaml.
func (m *bundleModel) options() map[string]attr.Value {
	return map[string]attr.Value{
		"labels":                    m.Labels,
		"annotations":               m.Annotations,
		"paused":                    m.Paused,
		"depends_on_bundles":        m.DependsOnBundles,
		"rollout_strategy":          m.RolloutStrategy,
		"target_customizations":     m.TargetCustomizations,
		"target_customization_mode": m.TargetCustomizationMode,
		"override_targets":          m.OverrideTargets,
		"default_namespace":         m.DefaultNamespace,
		"namespace":                 m.Namespace,
		"namespace_labels":          m.NamespaceLabels,
		"namespace_annotations":     m.NamespaceAnnotations,
		"create_namespace":          m.CreateNamespace,
		"helm":                      m.Helm,
		"kustomize":                 m.Kustomize,
		"yaml":                      m.YAML,
		"diff":                      m.Diff,
		"ignore":                    m.Ignore,
		"correct_drift":             m.CorrectDrift,
		"service_account":           m.ServiceAccount,
		"force_sync_generation":     m.ForceSyncGeneration,
		"keep_resources":            m.KeepResources,
		"delete_namespace":          m.DeleteNamespace,
		"delete_crd_resources":      m.DeleteCRDResources,
	}
}

// known says whether everything a plan needs is known.
func (m *bundleModel) known(ctx context.Context) bool {
	values := slices.Collect(maps.Values(m.options()))
	return !anyUnknown(ctx, append(values, m.Name, m.Chart, m.Git, m.Directory, m.Files)...)
}

func (m *bundleModel) gitModel(ctx context.Context, diags *diag.Diagnostics) bundleGitModel {
	var model bundleGitModel
	if !m.Git.IsNull() && !m.Git.IsUnknown() {
		diags.Append(as(ctx, m.Git, &model)...)
	}
	return model
}

func (m *bundleModel) checkout(ctx context.Context, diags *diag.Diagnostics) checkout {
	model := m.gitModel(ctx, diags)
	return checkout{repo: model.Repo.ValueString(), ref: source.Ref{Revision: model.Revision.ValueString()}}
}

// generation leaves Terraform. prior is what the state holds.
func (m *bundleModel) generation(ctx context.Context, prior bundleModel, diags *diag.Diagnostics) generation {
	options, err := definition(m.options())
	if err != nil {
		diags.AddError("Invalid options of bundle "+m.Name.ValueString(), sentence(err))
	}
	g := generation{
		name:     m.Name.ValueString(),
		checkout: m.checkout(ctx, diags),
		spec: source.Spec{
			Directory:  m.Directory.ValueString(),
			Files:      stringMapOf(ctx, m.Files, diags),
			Path:       m.gitModel(ctx, diags).Path.ValueString(),
			Definition: &source.Definition{Name: m.Name.ValueString(), Options: options},
		},
		anew: !m.ForceSyncGeneration.Equal(prior.ForceSyncGeneration),
	}
	switch {
	case !m.Chart.IsNull():
		g.at = path.Root("chart")
		g.spec.Files = map[string]string{} // The chart is all there is.
		g.spec.Definition.Options.Helm = m.withChart(ctx, options.Helm, diags)
	case !m.Git.IsNull():
		g.at = path.Root("git")
	case !m.Directory.IsNull():
		g.at = path.Root("directory")
	default:
		g.at = path.Root("files")
	}
	if prior.Directory.Equal(m.Directory) && prior.Git.Equal(m.Git) {
		g.prior = elementsOf(prior.Bundles)
		g.known = g.prior
	}
	return g
}

// withChart says in Fleet's options which chart the bundle is made of.
func (m *bundleModel) withChart(ctx context.Context, helm *fleetyaml.Helm, diags *diag.Diagnostics) *fleetyaml.Helm {
	var chart chartModel
	diags.Append(as(ctx, m.Chart, &chart)...)
	if helm == nil {
		helm = &fleetyaml.Helm{}
	}
	if helm.Chart != "" || helm.Repo != "" || helm.Version != "" {
		diags.AddAttributeError(path.Root("helm"), "Two charts for bundle "+m.Name.ValueString(),
			"The attribute chart says which chart is meant. Remove helm.chart, helm.repo and helm.version.")
	}
	helm.Repo, helm.Chart, helm.Version = chart.Repo.ValueString(), chart.Name.ValueString(), chart.Version.ValueString()
	return helm
}

// planBundle fills in the computed attributes of a plan. stored is the commit
// that Read found, "" if it found none.
func (f *fleet) planBundle(ctx context.Context, plan *bundleModel, prior bundleModel, stored string, diags *diag.Diagnostics) {
	g := plan.generation(ctx, prior, diags)
	if diags.HasError() {
		return
	}
	made := f.plan(ctx, g, stored, diags)
	if !diags.HasError() && !made.unknown {
		plan.enter(made.bundles)
	}
}

// settleBundle makes everything known that a plan left open, and answers the
// commit it was made of.
func (f *fleet) settleBundle(ctx context.Context, plan *bundleModel, prior bundleModel, stored string, diags *diag.Diagnostics) string {
	g := plan.generation(ctx, prior, diags)
	if diags.HasError() {
		return ""
	}
	bundles, commit := f.settle(ctx, g, plan.Bundles, stored, diags)
	if !diags.HasError() {
		plan.enter(bundles)
	}
	return commit
}

// leaveOpen is for a bundle whose content is not known yet. Its name is its key.
func (m *bundleModel) leaveOpen() {
	m.Digest, m.Bundles = types.StringUnknown(), types.MapUnknown(bundleObjectType())
	if !m.Name.IsUnknown() {
		m.Bundles = types.MapValueMust(bundleObjectType(), map[string]attr.Value{m.Name.ValueString(): types.ObjectUnknown(bundleTypes())})
	}
}

func (m *bundleModel) enter(bundles types.Map) {
	m.Bundles = bundles
	m.Digest = elementsOf(bundles)[m.Name.ValueString()].Digest
}
