package provider

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetschema"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

func (m *bundleModel) read(ctx context.Context, from modelReader, diags *diag.Diagnostics) {
	var object types.Object
	diags.Append(from.Get(ctx, &object)...)
	options := object.Attributes()
	*m = bundleModel{ForceSyncGeneration: attribute[types.Int64](options, "force_sync_generation"), options: options}
	take(options, "name", &m.Name)
	take(options, "chart", &m.Chart)
	take(options, "git", &m.Git)
	take(options, "directory", &m.Directory)
	take(options, "files", &m.Files)
	take(options, "helm_ignore", &m.HelmIgnore)
	take(options, "sources", &m.Sources)
	take(options, "digest", &m.Digest)
	take(options, "bundles", &m.Bundles)
	take(options, "contents", &m.Contents)
	m.was = m.computed()
}

func (m *bundleModel) computed() map[string]attr.Value {
	return map[string]attr.Value{"digest": m.Digest, "bundles": m.Bundles, "contents": m.Contents}
}

// write writes the computed attributes that changed after they were read. It sets no other
// attribute: for each one that is set, the framework checks the whole resource again.
func (m *bundleModel) write(ctx context.Context, to modelWriter, diags *diag.Diagnostics) {
	for name, value := range m.computed() {
		if !value.Equal(m.was[name]) {
			diags.Append(to.SetAttribute(ctx, path.Root(name), value)...)
		}
	}
}

// attribute returns an attribute, or null if it has another type.
func attribute[T attr.Value](of map[string]attr.Value, name string) T {
	value, _ := of[name].(T)
	return value
}

// take moves an attribute out of the map.
func take[T attr.Value](from map[string]attr.Value, name string, to *T) {
	*to = attribute[T](from, name)
	delete(from, name)
}

type chartModel struct {
	Repo    types.String `tfsdk:"repo"`
	Name    types.String `tfsdk:"name"`
	Version types.String `tfsdk:"version"`
	Follow  types.String `tfsdk:"follow"`
}

// The values of follow of a chart; null is followPinned.
const (
	followPinned     = "pinned"
	followConstraint = "constraint"
)

// followedCharts returns the chart if its constraint is followed.
func (m *bundleModel) followedCharts(ctx context.Context, diags *diag.Diagnostics) []bundle.Chart {
	var chart chartModel
	if m.Chart.IsNull() || m.Chart.IsUnknown() {
		return nil
	}
	diags.Append(framework.As(ctx, m.Chart, &chart)...)
	if chart.Follow.ValueString() != followConstraint {
		return nil
	}
	return []bundle.Chart{{Repo: chart.Repo.ValueString(), Name: chart.Name.ValueString(), Version: chart.Version.ValueString()}}
}

type bundleGitModel struct {
	Repo       types.String `tfsdk:"repo"`
	Revision   types.String `tfsdk:"revision"`
	Path       types.String `tfsdk:"path"`
	Submodules types.Bool   `tfsdk:"submodules"`
}

func (m *bundleModel) gitModel(ctx context.Context, diags *diag.Diagnostics) bundleGitModel {
	var model bundleGitModel
	if !m.Git.IsNull() && !m.Git.IsUnknown() {
		diags.Append(framework.As(ctx, m.Git, &model)...)
	}
	return model
}

func (m *bundleModel) git(ctx context.Context, diags *diag.Diagnostics) source.GitSource {
	model := m.gitModel(ctx, diags)
	return source.GitSource{
		Repo: model.Repo.ValueString(), Ref: source.Ref{Revision: model.Revision.ValueString()},
		Submodules: model.Submodules.IsNull() || model.Submodules.ValueBool(),
	}
}

func (m *bundleModel) follows(ctx context.Context, diags *diag.Diagnostics) followed {
	return followed{name: m.Name.ValueString(), git: m.git(ctx, diags), charts: m.followedCharts(ctx, diags), spec: source.Spec{Definition: &source.Definition{}}}
}

// request returns what the bundle is made from, nil if a value that a plan needs is not known yet.
func (m *bundleModel) request(ctx context.Context, prior *bundleModel, diags *diag.Diagnostics) *request {
	values := slices.Collect(maps.Values(m.options))
	if framework.AnyUnknown(ctx, append(values, m.Name, m.Chart, m.Git, m.Directory, m.Files, m.HelmIgnore, m.Sources)...) {
		return nil
	}
	options, err := fleetschema.DefinitionOf(m.options)
	if err != nil {
		diagnostics.Add(diags, report.Failed("Invalid options of bundle "+m.Name.ValueString(), err))
	}
	r := &request{name: m.Name.ValueString(), Request: source.Request{
		Git: m.git(ctx, diags),
		Spec: source.Spec{
			Directory:  m.Directory.ValueString(),
			Files:      framework.StringMap(ctx, m.Files, diags),
			Path:       m.gitModel(ctx, diags).Path.ValueString(),
			Sources:    sourcesOf(ctx, m.Sources, diags),
			HelmIgnore: m.HelmIgnore.IsNull() || m.HelmIgnore.ValueBool(),
			Definition: &source.Definition{Name: m.Name.ValueString(), Options: options},
		},
		Refresh: !m.ForceSyncGeneration.Equal(prior.ForceSyncGeneration),
	}}
	switch {
	case !m.Chart.IsNull():
		r.at, r.follows = "chart", len(m.followedCharts(ctx, diags)) > 0
		r.Spec.Files = map[string]string{} // The chart is the only content.
		r.Spec.Definition.Options.Helm = m.withChart(ctx, options.Helm, diags)
	case !m.Git.IsNull():
		r.at = "git"
	case !m.Directory.IsNull():
		r.at = "directory"
	default:
		r.at = "files"
	}
	if prior.Directory.Equal(m.Directory) && prior.Git.Equal(m.Git) {
		r.Known = elementsOf(prior.Bundles)
	}
	if prior.Sources.Equal(m.Sources) {
		r.Prior = r.Known
	}
	return r
}

// withChart sets the chart of the bundle in Fleet's options.
func (m *bundleModel) withChart(ctx context.Context, helm *fleetyaml.Helm, diags *diag.Diagnostics) *fleetyaml.Helm {
	var chart chartModel
	diags.Append(framework.As(ctx, m.Chart, &chart)...)
	if helm == nil {
		helm = &fleetyaml.Helm{}
	}
	if helm.Chart != "" || helm.Repo != "" || helm.Version != "" {
		diagnostics.Add(diags, report.TwoCharts(m.Name.ValueString()))
	}
	helm.Repo = chart.Repo.ValueString()
	helm.Chart = chart.Name.ValueString()
	helm.Version = chart.Version.ValueString()
	return helm
}

// setPlanned sets the computed attributes. The key of bundles is the name of the bundle, so it is
// often known before the content.
func (m *bundleModel) setPlanned(planned *source.Planned) {
	switch {
	case planned != nil:
		m.Bundles, m.Digest = bundlesOf(planned.Elements), types.StringValue(planned.Elements[m.Name.ValueString()].Digest)
	case m.Name.IsUnknown():
		m.Bundles, m.Digest = types.MapUnknown(bundleObjectType()), types.StringUnknown()
	default:
		m.Bundles = types.MapValueMust(bundleObjectType(), map[string]attr.Value{m.Name.ValueString(): types.ObjectUnknown(bundleTypes())})
		m.Digest = types.StringUnknown()
	}
	m.Contents = contentsOf(m.Bundles)
}

// resolveUnknown sets the values that a plan left unknown, and stores what was found.
func (m *bundleModel) resolveUnknown(ctx context.Context, f *providerData, wanted *request, private privateStore, diags *diag.Diagnostics) {
	if wanted == nil || diags.HasError() {
		return
	}
	commit := wanted.addPinned(ctx, planPrivate(ctx, private), diags)
	var found lookedUp
	if framework.AnyUnknown(ctx, m.Digest, m.Bundles) {
		bundles, planned := f.resolveUnknown(ctx, *wanted, m.Bundles, commit, diags)
		if diags.HasError() {
			return
		}
		m.Bundles, m.Digest = bundles, types.StringValue(elementsOf(bundles)[wanted.name].Digest)
		m.Contents = contentsOf(bundles)
		if !wanted.Git.None() && wanted.Git.Fixed() == "" {
			found.commit = planned.Commit
		}
	}
	wanted.storePinned(ctx, private, commit, found, diags)
}
