package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	datasourceschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleet"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// newClustersDataSource reads the clusters of a Fleet.
func newClustersDataSource() datasource.DataSource {
	return framework.NewDataSource("clusters", clustersSchema, (*providerData).readClusters)
}

func clustersSchema() datasourceschema.Schema {
	attributes := map[string]schema.Attribute{
		"namespace": framework.ComputedString("Namespace of the objects, as the provider's `engine` names it."),
		"clusters": framework.ComputedObjects("The clusters by name. The map is also a value for `clusters` of a provider: Terraform drops what that does not have.", map[string]schema.Attribute{
			"labels":               computedStringMap("Labels of the `Cluster` object."),
			"annotations":          computedStringMap("Its annotations, without those of kubectl and Rancher, which templates do not see."),
			"template_values":      framework.ComputedString("Its `spec.templateValues`, as JSON. Null if it has none."),
			"namespace":            framework.ComputedString("Its namespace, which templates see."),
			"display_name":         framework.ComputedString("The name that Rancher displays, from the label `management.cattle.io/cluster-display-name`. Null if it has none."),
			"paused":               schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether Fleet leaves the deployments of the cluster as they are (`spec.paused`)."},
			"groups":               framework.ComputedStrings("Names of the `ClusterGroup` objects that select it."),
			"deployment_namespace": framework.ComputedString("Namespace of its `BundleDeployment` objects. Empty before Fleet has created it."),
			"last_seen":            framework.ComputedString("When its agent reported last, in RFC 3339 and UTC. Empty if it never did."),
			"offline":              schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether that is longer ago than `offline_after` of the engine, or never happened."},
			"state":                framework.ComputedString("The worst state of its bundles, of any owner: `Ready`, `NotReady`, `Modified`, ... as in Fleet. `WaitCheckIn` if its agent never reported."),
		}),
		"cluster_groups": framework.ComputedObjects("The groups by name, as a value for `cluster_groups` of a provider. A group without a selector, or with an invalid one, selects nothing.", map[string]schema.Attribute{
			"selector": schema.SingleNestedAttribute{
				Computed: true, MarkdownDescription: "The clusters in the group, by their labels.",
				Attributes: map[string]schema.Attribute{
					"all":          schema.BoolAttribute{Computed: true, MarkdownDescription: "`true` if the selector selects all clusters, else null."},
					"match_labels": computedStringMap("Labels with exactly these values."),
					"match_expressions": schema.ListNestedAttribute{
						Computed: true, MarkdownDescription: "Conditions on labels. All of them must be met.",
						NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
							"key":      framework.ComputedString("The label."),
							"operator": framework.ComputedString("`In`, `NotIn`, `Exists` or `DoesNotExist`."),
							"values":   framework.ComputedStrings("The values for `In` and `NotIn`."),
						}},
					},
				},
			},
			"labels": computedStringMap("Labels of the group."),
		}),
	}
	return datasourceschema.Schema{
		MarkdownDescription: "The clusters of a Rancher Fleet, from the `Cluster` and `ClusterGroup` objects in the namespace of the provider's `engine`. " +
			"It reads the management cluster only, with paged lists. More than 20,000 clusters, 1,000 groups or 256 MiB of either are an error. " +
			"`last_seen`, `offline` and `state` change by themselves: what depends on them has changes in many plans.",
		Attributes: framework.DataSource(attributes),
	}
}

func computedStringMap(description string) schema.MapAttribute {
	return schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

type clustersModel struct {
	Namespace     types.String `tfsdk:"namespace"`
	Clusters      types.Map    `tfsdk:"clusters"`
	ClusterGroups types.Map    `tfsdk:"cluster_groups"`
}

func (p *providerData) readClusters(ctx context.Context, data *clustersModel, diags *diag.Diagnostics) {
	management := p.Management
	switch {
	case management == nil:
		diagnostics.Add(diags, report.NoEngine())
		return
	case management.Unknown:
		diagnostics.Add(diags, report.EngineUnknown())
		return
	}
	inventory, err := p.fleetEngine.Inventory(ctx)
	if err != nil {
		diagnostics.Add(diags, report.FleetClustersUnread(err))
		return
	}
	diagnostics.Add(diags, report.InvalidGroups(management.Namespace, invalidGroups(inventory)))
	data.Namespace, data.ClusterGroups = types.StringValue(management.Namespace), groupValues(inventory.Groups)
	if data.Clusters, err = fleetClusterValues(inventory.Clusters, time.Now(), management.OfflineAfter); err != nil {
		diagnostics.Add(diags, report.FleetClustersUnread(err))
	}
}

func invalidGroups(inventory fleet.Inventory) []report.InvalidGroup {
	groups := make([]report.InvalidGroup, len(inventory.Invalid))
	for i, group := range inventory.Invalid {
		groups[i] = report.InvalidGroup(group)
	}
	return groups
}

func fleetClusterTypes() map[string]attr.Type {
	text := types.MapType{ElemType: types.StringType}
	all := framework.StringTypes("template_values", "namespace", "display_name", "deployment_namespace", "last_seen", "state")
	maps.Copy(all, map[string]attr.Type{
		"labels": text, "annotations": text, "paused": types.BoolType, "offline": types.BoolType, "groups": types.ListType{ElemType: types.StringType},
	})
	return all
}

// fleetClusterValues converts to values of Terraform.
func fleetClusterValues(clusters []fleet.Cluster, now time.Time, offlineAfter time.Duration) (types.Map, error) {
	values := map[string]attr.Value{}
	for _, cluster := range clusters {
		templateValues := types.StringNull()
		if len(cluster.Facts.TemplateValues) > 0 {
			encoded, err := json.Marshal(cluster.Facts.TemplateValues)
			if err != nil {
				return types.Map{}, fmt.Errorf("encoding the template values of cluster %s: %w", cluster.Facts.Name, err)
			}
			templateValues = types.StringValue(string(encoded))
		}
		lastSeen := ""
		if !cluster.LastSeen.IsZero() {
			lastSeen = cluster.LastSeen.UTC().Format(time.RFC3339)
		}
		values[cluster.Facts.Name] = types.ObjectValueMust(fleetClusterTypes(), map[string]attr.Value{
			"labels":               framework.StringMapValue(cluster.Facts.Labels),
			"annotations":          framework.StringMapValue(cluster.Facts.Annotations),
			"template_values":      templateValues,
			"namespace":            types.StringValue(cluster.Facts.Namespace),
			"display_name":         stringOrNull(cluster.Facts.DisplayName),
			"paused":               types.BoolValue(cluster.Facts.Paused),
			"groups":               framework.StringListValue(cluster.Groups),
			"deployment_namespace": types.StringValue(cluster.DeploymentNamespace),
			"last_seen":            types.StringValue(lastSeen),
			"offline":              types.BoolValue(cluster.IsOffline(now, offlineAfter)),
			"state":                types.StringValue(cluster.State),
		})
	}
	return types.MapValueMust(types.ObjectType{AttrTypes: fleetClusterTypes()}, values), nil
}

func requirementTypes() map[string]attr.Type {
	all := framework.StringTypes("key", "operator")
	all["values"] = types.ListType{ElemType: types.StringType}
	return all
}

func selectorTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"all":               types.BoolType,
		"match_labels":      types.MapType{ElemType: types.StringType},
		"match_expressions": types.ListType{ElemType: types.ObjectType{AttrTypes: requirementTypes()}},
	}
}

func groupTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"selector": types.ObjectType{AttrTypes: selectorTypes()},
		"labels":   types.MapType{ElemType: types.StringType},
	}
}

// groupValues converts to values of Terraform.
func groupValues(groups []target.Group) types.Map {
	values := map[string]attr.Value{}
	for _, group := range groups {
		values[group.Name] = types.ObjectValueMust(groupTypes(), map[string]attr.Value{
			"selector": selectorValue(group.Selector),
			"labels":   framework.StringMapValue(group.Labels),
		})
	}
	return types.MapValueMust(types.ObjectType{AttrTypes: groupTypes()}, values)
}

func selectorValue(selector fleetyaml.Selector) types.Object {
	expressions := make([]attr.Value, len(selector.MatchExpressions))
	for i, expression := range selector.MatchExpressions {
		expressions[i] = types.ObjectValueMust(requirementTypes(), map[string]attr.Value{
			"key":      types.StringValue(expression.Key),
			"operator": types.StringValue(expression.Operator),
			"values":   framework.StringListValue(expression.Values),
		})
	}
	all := types.BoolNull()
	if len(selector.MatchLabels)+len(expressions) == 0 {
		all = types.BoolValue(true)
	}
	return types.ObjectValueMust(selectorTypes(), map[string]attr.Value{
		"all":               all,
		"match_labels":      framework.StringMapValue(selector.MatchLabels),
		"match_expressions": types.ListValueMust(types.ObjectType{AttrTypes: requirementTypes()}, expressions),
	})
}

func stringOrNull(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}
