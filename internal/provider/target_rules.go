package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func ruleAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"cluster_name": framework.OptionalString("The cluster with this name or display name."),
		"cluster_selector": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: "Clusters by their labels. `{}` selects all.", Attributes: selectorAttributes(),
		},
		"cluster_group": framework.OptionalString("The clusters of this group."),
		"cluster_group_selector": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: "The clusters of groups with these labels.", Attributes: selectorAttributes(),
		},
	}
}

func selectorAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"match_labels": framework.OptionalStringMap("Labels with exactly these values."),
		"match_expressions": schema.ListNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Conditions on labels. All of them must be met.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"key":      framework.OptionalString("The label. Required.", framework.Required{}),
				"operator": framework.OptionalString("`In`, `NotIn`, `Exists` or `DoesNotExist`. Required.", framework.Required{}),
				"values":   framework.OptionalStrings("The values for `In` and `NotIn`."),
			}},
		},
	}
}

type ruleModel struct {
	ClusterName          types.String `tfsdk:"cluster_name"`
	ClusterSelector      types.Object `tfsdk:"cluster_selector"`
	ClusterGroup         types.String `tfsdk:"cluster_group"`
	ClusterGroupSelector types.Object `tfsdk:"cluster_group_selector"`
}

// rulesOf leaves Terraform.
func rulesOf(ctx context.Context, targets types.List, diags *diag.Diagnostics) []target.Rule {
	rules := make([]target.Rule, 0, len(targets.Elements()))
	for _, value := range targets.Elements() {
		var rule ruleModel
		diags.Append(framework.As(ctx, value, &rule)...)
		rules = append(rules, target.Rule{
			ClusterName:          rule.ClusterName.ValueString(),
			ClusterGroup:         rule.ClusterGroup.ValueString(),
			ClusterSelector:      selectorOf(ctx, rule.ClusterSelector, diags),
			ClusterGroupSelector: selectorOf(ctx, rule.ClusterGroupSelector, diags),
		})
	}
	return rules
}
