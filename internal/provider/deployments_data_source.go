package provider

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

var _ datasource.DataSourceWithConfigure = (*deploymentsDataSource)(nil)

// deploymentsDataSource tells how deployments are doing on their clusters.
type deploymentsDataSource struct{ fleet *fleet }

func newDeploymentsDataSource() datasource.DataSource { return &deploymentsDataSource{} }

func (d *deploymentsDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_deployments"
}

func (d *deploymentsDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.fleet = providerData(req.ProviderData, &resp.Diagnostics)
}

func (d *deploymentsDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	texts := func(description string) schema.ListAttribute {
		return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "How the deployments of some bundles are doing on their clusters now, in full: which objects are missing, modified, or not ready, and why. " +
			"Clusters are only read. A field that a cluster changes whenever an object is written counts as modified here; the target remembers those, a data source cannot.",
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
			"state": schema.StringAttribute{Computed: true, MarkdownDescription: "The worst state of all deployments."},
			"resource_counts": schema.SingleNestedAttribute{
				Computed: true, Attributes: readOnly(countsAttributes()), MarkdownDescription: "The objects of all deployments, each counted once.",
			},
			"unreachable": texts("Clusters that could not be asked; their deployments are left out."),
			"unobserved":  texts("Deployments whose objects could not be looked at, as `cluster/bundle`. A warning says why; their state is that of their release."),
			"deployments": schema.MapNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The deployments, by `cluster/bundle`.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"release":   schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the Helm release."},
					"namespace": schema.StringAttribute{Computed: true, MarkdownDescription: "Namespace of the Helm release."},
					"state":     schema.StringAttribute{Computed: true, MarkdownDescription: "`Ready`, `NotReady`, `Pending` (not deployed), `OutOfSync` (something else is deployed), `Modified`, `WaitApplied` or `ErrApplied`, as in Fleet."},
					"message":   schema.StringAttribute{Computed: true, MarkdownDescription: "Why, in full."},
					"missing":   texts("Objects that do not exist."),
					"modified":  texts("Objects that differ from what was deployed, each with the path that differs: `Deployment web/nginx: spec.replicas`."),
					"not_owned": texts("Objects that another release holds, with its name."),
					"not_ready": texts("Objects that are not ready, and why."),
				}},
			},
		},
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
	if resp.Diagnostics.HasError() || d.fleet == nil {
		return
	}
	if d.fleet.ownerUnknown {
		resp.Diagnostics.AddError("Cannot tell how deployments are doing", "The provider's owner is not known yet. "+readLater)
		return
	}
	wanted := d.wanted(ctx, data, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	found := d.fleet.engine.Survey(ctx, d.fleet.owner, wanted)
	d.fleet.logPanics(ctx, found.Failures)
	addUnobserved(&resp.Diagnostics, "fleet_deployments", found.Failures, d.fleet.onUnreachable == errorUnreachable)
	if resp.Diagnostics.HasError() {
		return
	}
	data.set(found)
	resp.Diagnostics.Append(resp.State.Set(ctx, &data)...)
}

// wanted are the deployments that are asked for, with digests that cover the objects
// that values come from.
func (d *deploymentsDataSource) wanted(ctx context.Context, data deploymentsModel, diags *diag.Diagnostics) []target.Deployment {
	render := renderDataSource{fleet: d.fleet}
	result := render.deployments(ctx, renderModel{Bundles: data.Bundles, Targets: data.Targets}, diags)
	var failures []deploy.Failure
	for _, failure := range result.Failures {
		failures = append(failures, deploy.Failure{Cluster: failure.Cluster, Bundle: failure.Bundle, Err: failure.Err})
	}
	addPlanFailures(diags, "fleet_deployments", failures)
	references := map[string][]target.Reference{}
	for _, wanted := range result.Deployments {
		if of := wanted.References(); len(of) > 0 {
			references[wanted.Cluster] = append(references[wanted.Cluster], of...)
		}
	}
	versions(d.fleet.engine.Versions(ctx, references)).pin(result.Deployments)
	return result.Deployments
}

// set enters Terraform.
func (m *deploymentsModel) set(found deploy.Observation) {
	values := map[string]attr.Value{}
	var states []status.State
	var all status.Counts
	for key, record := range found.Records {
		states = append(states, record.State)
		all = all.Plus(record.Counts)
		values[key.String()] = surveyedValue(record, found.Findings[key])
	}
	var unreachable, unobserved []string
	for _, failure := range found.Failures {
		if failure.Bundle == "" {
			unreachable = append(unreachable, failure.Cluster)
			continue
		}
		unobserved = append(unobserved, target.Key(failure.Cluster, failure.Bundle))
	}
	m.State = types.StringValue(string(status.Worst(states...)))
	m.ResourceCounts = countsValue(all)
	m.Unreachable, m.Unobserved = textsValue(unreachable), textsValue(unobserved)
	m.Deployments = types.MapValueMust(types.ObjectType{AttrTypes: surveyedTypes()}, values)
}

func surveyedValue(record deploy.Record, finding release.Finding) attr.Value {
	var modified, notOwned, notReady []string
	for _, object := range finding.Modified {
		for _, difference := range object.Differences {
			modified = append(modified, release.DifferenceKey(object.Object, difference.Path))
		}
	}
	for _, object := range finding.NotOwned {
		notOwned = append(notOwned, object.Object+": "+object.Holder)
	}
	for _, object := range finding.NotReady {
		notReady = append(notReady, object.Object+": "+object.Reason)
	}
	return types.ObjectValueMust(surveyedTypes(), map[string]attr.Value{
		"release":   types.StringValue(record.Release),
		"namespace": types.StringValue(record.Namespace),
		"state":     types.StringValue(string(record.State)),
		"message":   types.StringValue(fullMessage(record, notReady, finding)),
		"missing":   textsValue(finding.Missing),
		"modified":  textsValue(modified),
		"not_owned": textsValue(notOwned),
		"not_ready": textsValue(notReady),
	})
}

// fullMessage is not cut, unlike that of a record. Where objects are why, it names all
// of them.
func fullMessage(record deploy.Record, notReady []string, finding release.Finding) string {
	objects := append(slices.Clone(notReady), status.Drift(finding)...)
	if len(objects) == 0 {
		return record.Message
	}
	text := strings.Join(objects, "; ")
	if record.State == status.NotReady || record.State == status.Modified {
		return text
	}
	return record.Message + "; " + text
}

func textsValue(texts []string) types.List {
	values := make([]attr.Value, len(texts))
	for i, text := range texts {
		values[i] = types.StringValue(text)
	}
	return types.ListValueMust(types.StringType, values)
}
