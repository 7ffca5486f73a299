package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func ruleAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"cluster_name": schema.StringAttribute{
			Optional: true, MarkdownDescription: "The cluster with this name or display name.",
		},
		"cluster_selector": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: "Clusters by their labels. `{}` selects all.", Attributes: selectorAttributes(),
		},
		"cluster_group": schema.StringAttribute{
			Optional: true, MarkdownDescription: "The clusters of this group.",
		},
		"cluster_group_selector": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: "The clusters of groups with these labels.", Attributes: selectorAttributes(),
		},
	}
}

func selectorAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"match_labels": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, MarkdownDescription: "Labels with exactly these values.",
		},
		"match_expressions": schema.ListNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Conditions on labels, all of which must hold.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"key":      schema.StringAttribute{Optional: true, MarkdownDescription: "The label. Required.", Validators: []validator.String{required()}},
				"operator": schema.StringAttribute{Optional: true, MarkdownDescription: "`In`, `NotIn`, `Exists` or `DoesNotExist`. Required.", Validators: []validator.String{required()}},
				"values":   schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "The values for `In` and `NotIn`."},
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
		diags.Append(as(ctx, value, &rule)...)
		rules = append(rules, target.Rule{
			ClusterName:          rule.ClusterName.ValueString(),
			ClusterGroup:         rule.ClusterGroup.ValueString(),
			ClusterSelector:      selectorOf(ctx, rule.ClusterSelector, diags),
			ClusterGroupSelector: selectorOf(ctx, rule.ClusterGroupSelector, diags),
		})
	}
	return rules
}
