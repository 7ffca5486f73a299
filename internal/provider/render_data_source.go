package provider

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

var _ datasource.DataSourceWithConfigure = (*renderDataSource)(nil)

// renderDataSource shows what would be deployed where. It reads no cluster.
type renderDataSource struct{ fleet *fleet }

func newRenderDataSource() datasource.DataSource { return &renderDataSource{} }

func (d *renderDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_render"
}

func (d *renderDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.fleet = providerData(req.ProviderData, &resp.Diagnostics)
}

// defaultKubeVersion is what charts see when nobody says otherwise.
const defaultKubeVersion = "v1.36.0"

func (d *renderDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Renders bundles for clusters, without reaching any: the options that each deployment gets, and the objects that it consists of. " +
			"With `clusters` given here it needs no connection and no credentials, so it runs anywhere, such as in a test of a pull request.",
		Attributes: map[string]schema.Attribute{
			"bundles": schema.ListAttribute{
				Required:            true,
				ElementType:         types.MapType{ElemType: bundleObjectType()},
				MarkdownDescription: "The bundles: a list of `bundles` attributes of `fleet_gitrepo` and `fleet_bundle`.",
			},
			"targets": schema.ListNestedAttribute{
				Required:            true,
				MarkdownDescription: "Rules that select clusters, as in `fleet_cluster_target`.",
				NestedObject:        schema.NestedAttributeObject{Attributes: readOnly(ruleAttributes())},
			},
			"clusters": schema.MapNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Clusters by name, instead of those of the provider.",
				Validators:          []validator.Map{mapvalidator.KeysAre(dnsLabel())},
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"labels":          schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Labels that selectors match and templates see."},
					"annotations":     schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Annotations that templates see."},
					"template_values": schema.StringAttribute{Optional: true, MarkdownDescription: "What templates see as `.ClusterValues`: a map as YAML or JSON."},
					"namespace":       schema.StringAttribute{Optional: true, MarkdownDescription: "Fleet's workspace namespace, which templates see. Default `fleet-default`."},
					"display_name":    schema.StringAttribute{Optional: true, MarkdownDescription: "A second name by which rules can name the cluster."},
				}},
			},
			"kube_version": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Version of Kubernetes that charts see. Default `" + defaultKubeVersion + "`. Charts that look at the cluster may render otherwise there.",
			},
			"show_secrets": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Show the values of Secrets in `manifest`, which stands in state. Default `false`.",
			},
			"deployments": schema.MapNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The deployments, by `cluster/bundle`.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"release":   schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the Helm release."},
					"namespace": schema.StringAttribute{Computed: true, MarkdownDescription: "Namespace of the Helm release."},
					"options":   schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "The options of the bundle on this cluster, merged and templated, as JSON in Fleet's field names. Sensitive, because values can be; `nonsensitive()` shows it."},
					"manifest":  schema.StringAttribute{Computed: true, MarkdownDescription: "The objects as YAML documents, hooks at the end, `crds/` of charts left out."},
				}},
			},
		},
	}
}

type renderModel struct {
	Bundles     types.List   `tfsdk:"bundles"`
	Targets     types.List   `tfsdk:"targets"`
	Clusters    types.Map    `tfsdk:"clusters"`
	KubeVersion types.String `tfsdk:"kube_version"`
	ShowSecrets types.Bool   `tfsdk:"show_secrets"`
	Deployments types.Map    `tfsdk:"deployments"`
}

type renderClusterModel struct {
	Labels         types.Map    `tfsdk:"labels"`
	Annotations    types.Map    `tfsdk:"annotations"`
	TemplateValues types.String `tfsdk:"template_values"`
	Namespace      types.String `tfsdk:"namespace"`
	DisplayName    types.String `tfsdk:"display_name"`
}

func renderedTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"release": types.StringType, "namespace": types.StringType, "options": types.StringType, "manifest": types.StringType,
	}
}

func (d *renderDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var data renderModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &data)...)
	if resp.Diagnostics.HasError() || d.fleet == nil {
		return
	}
	result := d.deployments(ctx, data, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	version := defaultKubeVersion
	if set := data.KubeVersion.ValueString(); set != "" {
		version = set
	}
	rendered := map[string]attr.Value{}
	var failures []deploy.Failure
	for _, failure := range result.Failures {
		failures = append(failures, deploy.Failure{Cluster: failure.Cluster, Bundle: failure.Bundle, Err: failure.Err})
	}
	for _, deployment := range result.Deployments {
		value, err := d.render(ctx, deployment, version, data.ShowSecrets.ValueBool())
		if err != nil {
			failures = append(failures, deploy.Failure{Cluster: deployment.Cluster, Bundle: deployment.Bundle.Name, Err: err})
			continue
		}
		rendered[deployment.Key()] = value
	}
	for _, cause := range groupByCause(failures) {
		failed := keys(cause.failures)
		resp.Diagnostics.AddError("Cannot render "+summaryOf(failed), "Deployments: "+listOf(failed)+"\n\nCause: "+cause.text)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	data.Deployments = types.MapValueMust(types.ObjectType{AttrTypes: renderedTypes()}, rendered)
	resp.Diagnostics.Append(resp.State.Set(ctx, &data)...)
}

// readLater says how a data source is read when everything is known: Terraform reads it
// while planning unless it is told that it depends on something.
const readLater = "Or let the data source depend, with depends_on, on the resources that this comes from; then it is read while applying."

// deployments are what the data source is asked to render.
func (d *renderDataSource) deployments(ctx context.Context, data renderModel, diags *diag.Diagnostics) target.Result {
	clusters, unknown := d.fleet.facts()
	if !data.Clusters.IsNull() {
		clusters, unknown = inlineClusters(ctx, data.Clusters, diags), nil
	}
	if len(unknown) > 0 || (data.Clusters.IsNull() && (d.fleet.clustersUnknown || d.fleet.groupsUnknown)) {
		diags.AddError("Cannot render for clusters that are not known yet",
			"The provider's clusters or their labels depend on resources that are not made yet. Give the clusters in the data source. "+readLater)
		return target.Result{}
	}
	bundles, reason := d.fleet.readBundles(ctx, "fleet_render", data.Bundles, diags)
	if reason != "" {
		diags.AddError("Cannot render what is not known yet", "This is not known: "+reason+". "+readLater)
	}
	rules := rulesOf(ctx, data.Targets, diags)
	if diags.HasError() {
		return target.Result{}
	}
	result, err := target.Deployments(ctx, target.Input{Bundles: bundles, Rules: rules, Clusters: clusters, Groups: d.fleet.groups, Evaluator: d.fleet.sandbox})
	if err != nil {
		addTargetError(diags, "fleet_render", err)
	}
	return result
}

func inlineClusters(ctx context.Context, entries types.Map, diags *diag.Diagnostics) []target.Cluster {
	clusters := make([]target.Cluster, 0, len(entries.Elements()))
	for name, value := range entries.Elements() {
		var model renderClusterModel
		diags.Append(as(ctx, value, &model)...)
		facts, factDiags := clusterModel{
			Labels: model.Labels, Annotations: model.Annotations, TemplateValues: model.TemplateValues,
			Namespace: model.Namespace, DisplayName: model.DisplayName,
		}.facts(ctx, name, path.Root("clusters").AtMapKey(name))
		diags.Append(factDiags...)
		clusters = append(clusters, facts)
	}
	return clusters
}

func (d *renderDataSource) render(ctx context.Context, deployment target.Deployment, version string, showSecrets bool) (attr.Value, error) {
	manifest, hooks, err := d.fleet.charts.Template(ctx, deployment, version)
	if err != nil {
		return nil, err
	}
	manifest += hooks
	if !showSecrets {
		if manifest, err = helm.MaskSecrets(manifest, deployment.SecretTexts()...); err != nil {
			return nil, err
		}
	}
	options, err := json.Marshal(deployment.Options)
	if err != nil {
		return nil, fmt.Errorf("writing options as JSON: %w", err)
	}
	return types.ObjectValueMust(renderedTypes(), map[string]attr.Value{
		"release":   types.StringValue(deployment.Release),
		"namespace": types.StringValue(deployment.Namespace),
		"options":   types.StringValue(string(options)),
		"manifest":  types.StringValue(manifest),
	}), nil
}
