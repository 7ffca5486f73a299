package provider

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	datasourceschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

var _ datasource.DataSourceWithConfigure = (*deploymentsDataSource)(nil)

// deploymentsDataSource tells how deployments are doing on their clusters.
type deploymentsDataSource struct {
	framework.DataSourceName
	configuredDataSource
}

func newDeploymentsDataSource() datasource.DataSource {
	return &deploymentsDataSource{DataSourceName: "deployments"}
}

func (d *deploymentsDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := selectionAttributes()
	maps.Copy(attributes, map[string]schema.Attribute{
		"state": framework.ComputedString("The worst state of all deployments."),
		"resource_counts": schema.SingleNestedAttribute{
			Computed: true, Attributes: countsAttributes(), MarkdownDescription: "The objects of all deployments, each counted once.",
		},
		"unreachable": framework.ComputedStrings("Clusters that could not be read. Their deployments are missing here."),
		"unobserved":  framework.ComputedStrings("Deployments whose objects could not be read, as `cluster/bundle`. A warning has the reason; their state is the state of their release."),
		"deployments": framework.ComputedObjects("The deployments, by `cluster/bundle`.", map[string]schema.Attribute{
			"release":   framework.ComputedString("Name of the Helm release."),
			"namespace": framework.ComputedString("Namespace of the Helm release."),
			"state":     framework.ComputedString("`Ready`, `NotReady`, `Pending` (not deployed), `OutOfSync` (another version is deployed), `Modified`, `WaitApplied` or `ErrApplied`, as in Fleet."),
			"message":   framework.ComputedString("The reason for the state, in full."),
			"missing":   framework.ComputedStrings("Objects that do not exist."),
			"modified":  framework.ComputedStrings("Objects that differ from what was deployed, each with the path that differs: `Deployment web/nginx: spec.replicas`."),
			"not_owned": framework.ComputedStrings("Objects that another release owns, with its name."),
			"not_ready": framework.ComputedStrings("Objects that are not ready, and why."),
		}),
	})
	resp.Schema = datasourceschema.Schema{
		MarkdownDescription: "The current state of deployments of some bundles on their clusters, in full: which objects are missing, modified, or not ready, and why. " +
			"It only reads clusters. A field that a cluster changes at each write of an object counts as modified here. The target remembers such fields, a data source cannot.",
		Attributes: framework.DataSource(attributes),
	}
}

type deploymentsModel struct {
	Bundles        types.List   `tfsdk:"bundles"`
	Targets        types.List   `tfsdk:"targets"`
	State          types.String `tfsdk:"state"`
	ResourceCounts types.Object `tfsdk:"resource_counts"`
	Unreachable    types.List   `tfsdk:"unreachable"`
	Unobserved     types.List   `tfsdk:"unobserved"`
	Deployments    types.Map    `tfsdk:"deployments"`
}

func surveyedTypes() map[string]attr.Type {
	list := types.ListType{ElemType: types.StringType}
	return map[string]attr.Type{
		"release": types.StringType, "namespace": types.StringType, "state": types.StringType, "message": types.StringType,
		"missing": list, "modified": list, "not_owned": list, "not_ready": list,
	}
}

func (d *deploymentsDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var data deploymentsModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &data)...)
	if resp.Diagnostics.HasError() || d.providerData == nil {
		return
	}
	if d.providerData.ownerUnknown {
		addMessages(&resp.Diagnostics, report.OwnerUnknown())
		return
	}
	wanted := d.wanted(ctx, data, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	found := d.providerData.engine.Status(ctx, d.providerData.owner, wanted)
	d.providerData.logPanics(ctx, found.Failures)
	addMessages(&resp.Diagnostics, report.Unobserved("fleet_deployments", found.Failures, d.providerData.onUnreachable == errorUnreachable))
	if resp.Diagnostics.HasError() {
		return
	}
	data.set(found)
	resp.Diagnostics.Append(resp.State.Set(ctx, &data)...)
}

// wanted are the deployments that are asked for, with digests that cover the objects
// that values come from.
func (d *deploymentsDataSource) wanted(ctx context.Context, data deploymentsModel, diags *diag.Diagnostics) []target.Deployment {
	render := renderDataSource{configuredDataSource: d.configuredDataSource}
	result := render.deployments(ctx, renderModel{Bundles: data.Bundles, Targets: data.Targets}, diags)
	var failures []deploy.Failure
	for _, failure := range result.Failures {
		failures = append(failures, deploy.Failure{Cluster: failure.Cluster, Bundle: failure.Bundle, Err: failure.Err})
	}
	addMessages(diags, report.PlanFailures("fleet_deployments", failures))
	references := map[string][]target.Reference{}
	for _, wanted := range result.Deployments {
		if of := wanted.References(); len(of) > 0 {
			references[wanted.Cluster] = append(references[wanted.Cluster], of...)
		}
	}
	state.ObjectVersions(d.providerData.engine.Versions(ctx, references)).Pin(result.Deployments)
	return result.Deployments
}

// set enters Terraform.
func (m *deploymentsModel) set(found deploy.Observation) {
	values := map[string]attr.Value{}
	for name, report := range found.Reports() {
		values[name] = types.ObjectValueMust(surveyedTypes(), map[string]attr.Value{
			"release":   types.StringValue(report.Release),
			"namespace": types.StringValue(report.Namespace),
			"state":     types.StringValue(string(report.State)),
			"message":   types.StringValue(report.Message),
			"missing":   framework.StringListValue(report.Missing),
			"modified":  framework.StringListValue(report.Modified),
			"not_owned": framework.StringListValue(report.NotOwned),
			"not_ready": framework.StringListValue(report.NotReady),
		})
	}
	state, counts := found.Total()
	unreachable, unobserved := found.Unseen()
	m.State = types.StringValue(string(state))
	m.ResourceCounts = countsValue(counts)
	m.Unreachable, m.Unobserved = framework.StringListValue(unreachable), framework.StringListValue(unobserved)
	m.Deployments = types.MapValueMust(types.ObjectType{AttrTypes: surveyedTypes()}, values)
}
