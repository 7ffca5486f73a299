package provider

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	datasourceschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// newClusterDataSource reads what a cluster of the provider serves.
func newClusterDataSource() datasource.DataSource {
	return framework.NewDataSource("cluster", clusterSchema, (*providerData).readCluster)
}

func clusterSchema() datasourceschema.Schema {
	attributes := map[string]schema.Attribute{
		"name":         framework.RequiredString("Name of the cluster in `clusters` of the provider."),
		"reachable":    schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the cluster could be read with the connection of the provider."},
		"reason":       framework.ComputedString("Why it could not be read. Null if it could."),
		"uid":          framework.ComputedString("Identity of the cluster, a value for `uid` of its entry. Null if the cluster could not be read."),
		"kube_version": framework.ComputedString("Version of Kubernetes, such as `v1.36.0`. Null if the cluster could not be read."),
		"api_versions": framework.ComputedStrings("API versions and kinds that it serves, such as `apps/v1` and `apps/v1/Deployment`, sorted. Null if the cluster could not be read."),
	}
	return datasourceschema.Schema{
		MarkdownDescription: "What a cluster of the provider serves, and whether it can be read. It is read by each plan. " +
			"With an engine no cluster but the management cluster is connected to, and this is an error: use `fleet_clusters`.",
		Attributes: framework.DataSource(attributes),
	}
}

type clusterDataModel struct {
	Name        types.String `tfsdk:"name"`
	Reachable   types.Bool   `tfsdk:"reachable"`
	Reason      types.String `tfsdk:"reason"`
	UID         types.String `tfsdk:"uid"`
	KubeVersion types.String `tfsdk:"kube_version"`
	APIVersions types.List   `tfsdk:"api_versions"`
}

func (p *providerData) readCluster(ctx context.Context, data *clusterDataModel, diags *diag.Diagnostics) {
	name := data.Name.ValueString()
	if p.HasEngine() {
		diagnostics.Add(diags, report.InvalidSetting("name", "Cannot read cluster "+name, errClusterOfEngine))
		return
	}
	uid, capabilities, err := p.capabilitiesOf(ctx, name)
	_, missing := errors.AsType[*status.MissingClusterError](err)
	_, notYet := errors.AsType[*status.UnknownConnectionError](err)
	unusable, isUnusable := errors.AsType[*status.ConnectionError](err)
	if missing || notYet || isUnusable && unusable.Invalid || ctx.Err() != nil {
		diagnostics.Add(diags, report.InvalidSetting("name", "Cannot read cluster "+name, err))
		return
	}
	data.Reachable = types.BoolValue(err == nil)
	data.Reason = types.StringNull()
	data.UID = types.StringNull()
	data.KubeVersion = types.StringNull()
	data.APIVersions = types.ListNull(types.StringType)
	if err != nil {
		data.Reason = types.StringValue(report.Sentence(err))
	} else {
		data.UID, data.KubeVersion = types.StringValue(uid), types.StringValue(capabilities.Version)
		data.APIVersions = framework.StringListValue(capabilities.APIs)
	}
}

var errClusterOfEngine = errors.New("with an engine, only the management cluster is connected to; use the data source fleet_clusters")

func (p *providerData) capabilitiesOf(ctx context.Context, name string) (uid string, capabilities target.Capabilities, err error) {
	client, err := p.clusters.Connect(name)
	if err != nil {
		return "", target.Capabilities{}, err
	}
	if uid, err = client.UID(ctx); err != nil {
		return "", target.Capabilities{}, err
	}
	capabilities, err = client.Capabilities(ctx)
	return uid, capabilities, err
}
