package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	datasourceschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

var _ datasource.DataSourceWithConfigure = (*chartVersionsDataSource)(nil)

// chartVersionsDataSource lists the versions of a chart.
type chartVersionsDataSource struct {
	framework.DataSourceName
	configuredDataSource
}

func newChartVersionsDataSource() datasource.DataSource {
	return &chartVersionsDataSource{DataSourceName: "chart_versions"}
}

func (d *chartVersionsDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := map[string]schema.Attribute{
		"repo":     framework.RequiredString("URL of a Helm repository, or `oci://` with the name of the chart at its end. Credentials are those of the provider's `registries`."),
		"name":     framework.OptionalString("Name of the chart in a Helm repository."),
		"version":  framework.OptionalString("A constraint, such as `~4.11`. Default: any stable version."),
		"allowed":  framework.ComputedString("The newest version that `version` allows. Null if it allows none."),
		"newest":   framework.ComputedString("The newest version that is no pre-release, whatever `version` allows. Null if there is none."),
		"versions": framework.ComputedStrings("The versions, the newest first. At most 100."),
	}
	resp.Schema = datasourceschema.Schema{
		MarkdownDescription: "The versions of a chart in a Helm repository or an OCI registry: what is newer than what is deployed. It is read by each plan.",
		Attributes:          framework.DataSource(attributes),
	}
}

type chartVersionsModel struct {
	Repo     types.String `tfsdk:"repo"`
	Name     types.String `tfsdk:"name"`
	Version  types.String `tfsdk:"version"`
	Allowed  types.String `tfsdk:"allowed"`
	Newest   types.String `tfsdk:"newest"`
	Versions types.List   `tfsdk:"versions"`
}

func (d *chartVersionsDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var data chartVersionsModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &data)...)
	if resp.Diagnostics.HasError() || d.providerData == nil {
		return
	}
	of := bundle.Chart{Repo: data.Repo.ValueString(), Name: data.Name.ValueString(), Version: data.Version.ValueString()}
	found, err := d.providerData.fetcher.Versions(ctx, of)
	if err != nil {
		diagnostics.Add(&resp.Diagnostics, report.NoVersions(err))
		return
	}
	allowed, err := chart.NewestAllowed(found, of.Version)
	if err != nil {
		diagnostics.Add(&resp.Diagnostics, report.InvalidSetting("version", "Invalid constraint", err))
		return
	}
	data.Allowed, data.Newest = types.StringNull(), types.StringNull()
	if allowed != "" {
		data.Allowed = types.StringValue(allowed)
	}
	if i := slices.IndexFunc(found, chart.IsStable); i >= 0 {
		data.Newest = types.StringValue(found[i])
	}
	const most = 100
	data.Versions = framework.StringListValue(found[:min(most, len(found))])
	resp.Diagnostics.Append(resp.State.Set(ctx, &data)...)
}
