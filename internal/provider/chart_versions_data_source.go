package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	datasourceschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// newChartVersionsDataSource lists the versions of a chart.
func newChartVersionsDataSource() datasource.DataSource {
	return framework.NewDataSource("chart_versions", chartVersionsSchema, (*providerData).readChartVersions)
}

func chartVersionsSchema() datasourceschema.Schema {
	attributes := map[string]schema.Attribute{
		"repo":     framework.RequiredString("URL of a Helm repository, or `oci://` with the name of the chart at its end. Credentials are those of the provider's `registries`."),
		"name":     framework.OptionalString("Name of the chart in a Helm repository."),
		"version":  framework.OptionalString("A constraint, such as `~4.11`. Default: any stable version."),
		"allowed":  framework.ComputedString("The newest version that `version` allows. Null if it allows none."),
		"newest":   framework.ComputedString("The newest version that is no pre-release, whatever `version` allows. Null if there is none."),
		"versions": framework.ComputedStrings("The versions, the newest first. At most 100."),
	}
	return datasourceschema.Schema{
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

func (p *providerData) readChartVersions(ctx context.Context, data *chartVersionsModel, diags *diag.Diagnostics) {
	of := bundle.Chart{Repo: data.Repo.ValueString(), Name: data.Name.ValueString(), Version: data.Version.ValueString()}
	found, err := p.fetcher.Versions(ctx, of)
	if err != nil {
		diagnostics.Add(diags, report.NoVersions(err))
		return
	}
	allowed, err := chart.NewestAllowed(found, of.Version)
	if err != nil {
		diagnostics.Add(diags, report.InvalidSetting("version", "Invalid constraint", err))
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
}
