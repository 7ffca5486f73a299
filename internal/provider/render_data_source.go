package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	datasourceschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/config"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetschema"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// newRenderDataSource shows what would be deployed where. It reads no cluster.
func newRenderDataSource() datasource.DataSource {
	return framework.NewDataSource("render", renderSchema, (*providerData).readRendered)
}

// defaultKubeVersion is the version of Kubernetes for charts if kube_version is not set.
const defaultKubeVersion = "v1.36.0"

func renderSchema() datasourceschema.Schema {
	attributes := selectionAttributes()
	maps.Copy(attributes, map[string]schema.Attribute{
		"clusters": schema.MapNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Clusters by name, instead of those of the provider.",
			Validators:          []validator.Map{mapvalidator.KeysAre(framework.DNSLabel())},
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"labels":          framework.OptionalStringMap("Labels for selectors and templates."),
				"annotations":     framework.OptionalStringMap("Annotations for templates."),
				"template_values": framework.OptionalString("The value of `.ClusterValues` in templates: a map as YAML or JSON."),
				"namespace":       framework.OptionalString("Fleet's workspace namespace, for templates. Default `fleet-default`."),
				"display_name":    framework.OptionalString("A second name of the cluster, for rules."),
			}},
		},
		"kube_version": framework.OptionalString("Version of Kubernetes for charts. Default `" + defaultKubeVersion + "`. Charts that read from the cluster may render differently there."),
		"show_secrets": framework.OptionalBool("Show the values of Secrets in `manifest`, which is stored in state. Default `false`."),
		"deployments": framework.ComputedObjects("The deployments, by `cluster/bundle`.", map[string]schema.Attribute{
			"release":   framework.ComputedString("Name of the Helm release."),
			"namespace": framework.ComputedString("Namespace of the Helm release."),
			"options": schema.StringAttribute{
				Computed: true, Sensitive: true,
				MarkdownDescription: "The options of the bundle on this cluster, merged and templated, as JSON with Fleet's field names. Sensitive, because values can be; `nonsensitive()` shows it.",
			},
			"manifest": framework.ComputedString("The objects as YAML documents, hooks at the end. `crds/` of charts and hooks that Helm does not know are omitted."),
		}),
	})
	return datasourceschema.Schema{
		MarkdownDescription: "Renders bundles for clusters, without connecting to any: the options and the objects of each deployment. " +
			"With `clusters` set here it needs no connection and no credentials, so it runs anywhere, for example in a test of a pull request.",
		Attributes: framework.DataSource(attributes),
	}
}

// selectionAttributes are the attributes with which data sources select deployments.
func selectionAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"bundles": schema.ListAttribute{
			Required: true, Sensitive: true,
			ElementType:         types.MapType{ElemType: bundleObjectType()},
			MarkdownDescription: "The bundles: a list of `bundles` attributes of `fleet_gitrepo` and `fleet_bundle`.",
		},
		"targets": schema.ListNestedAttribute{
			Required:            true,
			MarkdownDescription: "Rules that select clusters, as in `fleet_cluster_target`.",
			NestedObject:        fleetschema.Rules(fleetschema.Rule()),
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

func renderedTypes() map[string]attr.Type {
	return framework.StringTypes("release", "namespace", "options", "manifest")
}

func (p *providerData) readRendered(ctx context.Context, data *renderModel, diags *diag.Diagnostics) {
	deployments, failures := p.selected(ctx, data, diags)
	if diags.HasError() {
		return
	}
	version := cmp.Or(data.KubeVersion.ValueString(), defaultKubeVersion)
	rendered := map[string]attr.Value{}
	var notRendered []deploy.Key
	for i, deployment := range deployments {
		value, err := p.render(ctx, deployment, version, data.ShowSecrets.ValueBool())
		if err != nil {
			failures = append(failures, deploy.Failure{Cluster: deployment.Cluster, Bundle: deployment.Bundle.Name, Err: err})
			if !plan.StopsRendering(err) {
				continue
			}
			for _, later := range deployments[i+1:] {
				notRendered = append(notRendered, deploy.KeyOf(later))
			}
			break
		}
		rendered[deployment.Key()] = value
	}
	diagnostics.Add(diags, report.RenderFailures(failures, notRendered))
	if diags.HasError() {
		return
	}
	data.Deployments = types.MapValueMust(types.ObjectType{AttrTypes: renderedTypes()}, rendered)
}

// selected returns the deployments that a data source selects, and those that fail.
func (p *providerData) selected(ctx context.Context, data *renderModel, diags *diag.Diagnostics) (deployments []target.Deployment, failures []deploy.Failure) {
	clusters, unknown := p.clusters.Facts()
	if !data.Clusters.IsNull() {
		clusters, unknown = inlineClusters(ctx, data.Clusters, diags), nil
	}
	if len(unknown) > 0 || (data.Clusters.IsNull() && (p.ClustersUnknown || p.GroupsUnknown)) {
		diagnostics.Add(diags, report.RenderClustersUnknown())
		return nil, nil
	}
	bundles, reason := p.readBundles(ctx, "fleet_render", data.Bundles, nil, diags)
	diagnostics.Add(diags, report.RenderUnknown(reason))
	rules := fleetschema.RulesOf(ctx, data.Targets, diags)
	if diags.HasError() {
		return nil, nil
	}
	result, err := target.Deployments(ctx, target.Input{Bundles: bundles, Rules: rules, Clusters: clusters, Groups: p.Groups, Evaluator: p.sandbox})
	if err != nil {
		diagnostics.Add(diags, report.RuleFailure("fleet_render", err))
	}
	for _, failure := range result.Failures {
		failures = append(failures, deploy.Failure{Cluster: failure.Cluster, Bundle: failure.Bundle, Err: failure.Err})
	}
	return result.Deployments, failures
}

func inlineClusters(ctx context.Context, entries types.Map, diags *diag.Diagnostics) []target.Cluster {
	clusters := make([]target.Cluster, 0, len(entries.Elements()))
	for name, value := range entries.Elements() {
		var model config.FactsModel
		framework.AsPlain(ctx, value, &model, diags)
		clusters = append(clusters, model.Facts(name, diags))
	}
	return clusters
}

func (p *providerData) render(ctx context.Context, deployment target.Deployment, version string, showSecrets bool) (attr.Value, error) {
	manifest, hooks, err := p.charts.Template(ctx, deployment, version)
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
	return types.ObjectValueMust(renderedTypes(), framework.StringValues(map[string]string{
		"release": deployment.Release, "namespace": deployment.Namespace, "options": string(options), "manifest": manifest,
	})), nil
}
