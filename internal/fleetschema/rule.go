package fleetschema

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Rule returns the attributes of a rule that selects clusters.
func Rule() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"cluster_name": framework.OptionalString("The cluster with this name or display name."),
		"cluster_selector": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: "Clusters by their labels. `{}` selects all.", Attributes: Selector(),
		},
		"cluster_group": framework.OptionalString("The clusters of this group."),
		"cluster_group_selector": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: "The clusters of groups with these labels.", Attributes: Selector(),
		},
	}
}

type ruleModel struct {
	ClusterName          types.String `tfsdk:"cluster_name"`
	ClusterSelector      types.Object `tfsdk:"cluster_selector"`
	ClusterGroup         types.String `tfsdk:"cluster_group"`
	ClusterGroupSelector types.Object `tfsdk:"cluster_group_selector"`
}

// RulesOf returns the rules of a list of objects with the attributes of Rule.
func RulesOf(ctx context.Context, targets types.List, diags *diag.Diagnostics) []target.Rule {
	rules := make([]target.Rule, 0, len(targets.Elements()))
	for _, value := range targets.Elements() {
		var rule ruleModel
		diags.Append(framework.As(ctx, value, &rule)...)
		rules = append(rules, target.Rule{
			ClusterName:          rule.ClusterName.ValueString(),
			ClusterGroup:         rule.ClusterGroup.ValueString(),
			ClusterSelector:      SelectorOf(ctx, rule.ClusterSelector, diags),
			ClusterGroupSelector: SelectorOf(ctx, rule.ClusterGroupSelector, diags),
		})
	}
	return rules
}
