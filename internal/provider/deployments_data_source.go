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

	"github.com/agentless-fleet/terraform-provider-fleet/internal/config"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// newDeploymentsDataSource reports the state of deployments on their clusters.
func newDeploymentsDataSource() datasource.DataSource {
	return framework.NewDataSource("deployments", deploymentsSchema, (*providerData).readDeployments)
}

func deploymentsSchema() datasourceschema.Schema {
	attributes := selectionAttributes()
	maps.Copy(attributes, map[string]schema.Attribute{
		"state":           framework.ComputedString("The worst state of all deployments. Empty instead of `Ready` if a cluster or a deployment could not be read."),
		"ready":           computedNumber("Number of deployments that are `Ready`."),
		"failed":          computedNumber("Number of deployments that are `ErrApplied`."),
		"ready_clusters":  framework.ComputedString("Number of clusters on which all deployments are ready, such as `48/50`. Clusters without a deployment do not count. A cluster that could not be read is not ready."),
		"resource_counts": computedCounts("The objects of all deployments that could be read, each counted once. Hooks and `crds/` of charts do not count."),
		"unreachable":     framework.ComputedStrings("Clusters that could not be read. Their deployments are missing in `deployments`; `clusters` has the reason."),
		"unobserved":      framework.ComputedStrings("Deployments on other clusters whose objects could not be read, as `cluster/bundle`. They are missing in `deployments`; `clusters` has the reason."),
		"clusters": framework.ComputedObjects("The clusters with deployments, by name.", map[string]schema.Attribute{
			"state":           framework.ComputedString("The worst state of the deployments on this cluster. Empty instead of `Ready` if the cluster or a deployment could not be read."),
			"deployments":     computedNumber("Number of deployments that the cluster should have, whether they could be read or not."),
			"ready":           computedNumber("Number of deployments that are `Ready`."),
			"failed":          computedNumber("Number of deployments that are `ErrApplied`."),
			"reachable":       schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the cluster could be read. If not, all numbers except `deployments` are 0. With `on_unreachable = \"error\"` of the provider, such a cluster is an error instead."},
			"message":         framework.ComputedString("Why the cluster, or some of its deployments, could not be read, without credentials and at most 1 kB. Empty if all could be read. `message` of a deployment has the reason for its state."),
			"resource_counts": computedCounts("The objects of the deployments that could be read on this cluster."),
		}),
		"deployments": framework.ComputedObjects("The deployments that could be read, by `cluster/bundle`.", map[string]schema.Attribute{
			"release":   framework.ComputedString("Name of the Helm release."),
			"namespace": framework.ComputedString("Namespace of the Helm release."),
			"chart":     framework.ComputedString("Name of the deployed chart, as the release record contains it. Empty if nothing is deployed, or by another owner."),
			"version":   framework.ComputedString("Version of the deployed chart, as the release record contains it. Empty if nothing is deployed, or by another owner."),
			"digest": framework.ComputedString("Digest over all input of the deployed release, as its release record contains it. It differs from the wanted one if the state is `OutOfSync`. " +
				"Empty if nothing is deployed, or if another owner or tool wrote the newest revision."),
			"resource_counts": computedCounts("The objects of the deployment, each counted once."),
			"state":           framework.ComputedString("`Ready`, `NotReady`, `Pending` (not deployed), `OutOfSync` (another version is deployed), `Modified`, `WaitApplied` or `ErrApplied`, as in Fleet."),
			"message":         framework.ComputedString("The reason for the state, in full."),
			"missing":         framework.ComputedStrings("Objects that do not exist."),
			"modified":        framework.ComputedStrings("Objects that differ from what was deployed, each with the path that differs: `Deployment web/nginx: spec.replicas`."),
			"not_owned":       framework.ComputedStrings("Objects that another release owns, with its name."),
			"not_ready":       framework.ComputedStrings("Objects that are not ready, and why."),
		}),
	})
	return datasourceschema.Schema{
		MarkdownDescription: "The current state of deployments of some bundles on their clusters, in full: which objects are missing, modified, or not ready, and why. " +
			"It only reads clusters. A field that a cluster changes at each write of an object counts as modified here. The target accepts such fields, and its apply warns of them. So `modified` lists what is accepted as well.",
		Attributes: framework.DataSource(attributes),
	}
}

type deploymentsModel struct {
	Bundles        types.List   `tfsdk:"bundles"`
	Targets        types.List   `tfsdk:"targets"`
	State          types.String `tfsdk:"state"`
	Ready          types.Int64  `tfsdk:"ready"`
	Failed         types.Int64  `tfsdk:"failed"`
	ReadyClusters  types.String `tfsdk:"ready_clusters"`
	ResourceCounts types.Object `tfsdk:"resource_counts"`
	Clusters       types.Map    `tfsdk:"clusters"`
	Unreachable    types.List   `tfsdk:"unreachable"`
	Unobserved     types.List   `tfsdk:"unobserved"`
	Deployments    types.Map    `tfsdk:"deployments"`
}

func computedNumber(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

func computedCounts(description string) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Computed: true, Attributes: countsAttributes(), MarkdownDescription: description}
}

func deploymentStatusTypes() map[string]attr.Type {
	list := types.ListType{ElemType: types.StringType}
	all := framework.StringTypes("release", "namespace", "chart", "version", "digest", "state", "message")
	maps.Copy(all, map[string]attr.Type{"resource_counts": countsType(), "missing": list, "modified": list, "not_owned": list, "not_ready": list})
	return all
}

func clusterStatusTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"state": types.StringType, "message": types.StringType, "reachable": types.BoolType, "resource_counts": countsType(),
		"deployments": types.Int64Type, "ready": types.Int64Type, "failed": types.Int64Type,
	}
}

// maxReason limits the stored reason why a cluster could not be read, in bytes.
const maxReason = 1000

func (p *providerData) readDeployments(ctx context.Context, data *deploymentsModel, diags *diag.Diagnostics) {
	if p.OwnerUnknown {
		diagnostics.Add(diags, report.OwnerUnknown())
		return
	}
	wanted := p.wanted(ctx, data, diags)
	if diags.HasError() {
		return
	}
	found := p.runner.Status(ctx, p.Owner, wanted)
	p.logPanics(ctx, found.Failures)
	diagnostics.Add(diags, report.Unobserved("fleet_deployments", found.Failures, p.OnUnreachable == config.ErrorUnreachable))
	if diags.HasError() {
		return
	}
	data.setDeployments(found.Reports())
	data.setOverview(found.Overview(wanted), p.masker)
}

// wanted returns the deployments that the data source selects. Their digests cover the objects that
// values come from.
func (p *providerData) wanted(ctx context.Context, data *deploymentsModel, diags *diag.Diagnostics) []target.Deployment {
	deployments, failures := p.selected(ctx, &renderModel{Bundles: data.Bundles, Targets: data.Targets}, diags)
	diagnostics.Add(diags, report.PlanFailures("fleet_deployments", failures))
	references := map[string][]target.Reference{}
	for _, wanted := range deployments {
		if of := wanted.References(); len(of) > 0 {
			references[wanted.Cluster] = append(references[wanted.Cluster], of...)
		}
	}
	state.ObjectVersions(p.runner.Versions(ctx, references)).Pin(deployments)
	return deployments
}

// setDeployments converts to values of Terraform.
func (m *deploymentsModel) setDeployments(reports map[string]deploy.Report) {
	values := map[string]attr.Value{}
	for name, report := range reports {
		values[name] = types.ObjectValueMust(deploymentStatusTypes(), map[string]attr.Value{
			"release":         types.StringValue(report.Release),
			"namespace":       types.StringValue(report.Namespace),
			"chart":           types.StringValue(report.Chart),
			"version":         types.StringValue(report.Version),
			"digest":          types.StringValue(report.Digest),
			"state":           types.StringValue(string(report.State)),
			"message":         types.StringValue(report.Message),
			"resource_counts": countsValue(report.Counts),
			"missing":         framework.StringListValue(report.Missing),
			"modified":        framework.StringListValue(report.Modified),
			"not_owned":       framework.StringListValue(report.NotOwned),
			"not_ready":       framework.StringListValue(report.NotReady),
		})
	}
	m.Deployments = types.MapValueMust(types.ObjectType{AttrTypes: deploymentStatusTypes()}, values)
}

// setOverview converts to values of Terraform. The reason why a cluster could not be read is text
// from outside. It is stored, so it is masked and shortened.
func (m *deploymentsModel) setOverview(overview deploy.Overview, masker *mask.Masker) {
	clusters := map[string]attr.Value{}
	for name, cluster := range overview.Clusters {
		clusters[name] = types.ObjectValueMust(clusterStatusTypes(), map[string]attr.Value{
			"state":           types.StringValue(string(cluster.State)),
			"deployments":     types.Int64Value(int64(cluster.Deployments)),
			"ready":           types.Int64Value(int64(cluster.Ready)),
			"failed":          types.Int64Value(int64(cluster.Failed)),
			"reachable":       types.BoolValue(cluster.IsReachable),
			"message":         types.StringValue(mask.WithoutMiddle(masker.Shown(cluster.Message), maxReason)),
			"resource_counts": countsValue(cluster.Objects),
		})
	}
	m.Clusters = types.MapValueMust(types.ObjectType{AttrTypes: clusterStatusTypes()}, clusters)
	m.State, m.ReadyClusters = types.StringValue(string(overview.State)), types.StringValue(overview.ReadyClusters)
	m.Ready, m.Failed = types.Int64Value(int64(overview.Ready)), types.Int64Value(int64(overview.Failed))
	m.ResourceCounts = countsValue(overview.Objects)
	m.Unreachable, m.Unobserved = framework.StringListValue(overview.Unreachable), framework.StringListValue(overview.Unobserved)
}
