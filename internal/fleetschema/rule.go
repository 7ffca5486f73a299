package fleetschema

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Rule returns the attributes of a rule that selects clusters. An object with them needs criteria,
// see Rules.
func Rule() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"all":                    framework.OptionalBool("`true` selects all clusters, and excludes the other criteria."),
		"cluster_name":           framework.OptionalString("The cluster with this name or display name."),
		"cluster_selector":       SelectorObject("Clusters by their labels."),
		"cluster_group":          framework.OptionalString("The clusters of this group."),
		"cluster_group_selector": SelectorObject("The clusters of groups with these labels."),
	}
}

// Rules is the object of a list of rules: it has the attributes of Rule, and may have others. One
// without criteria is an error.
func Rules(attributes map[string]schema.Attribute) schema.NestedAttributeObject {
	criteria := framework.Criteria{"all", "cluster_name", "cluster_selector", "cluster_group", "cluster_group_selector"}
	return schema.NestedAttributeObject{Attributes: attributes, Validators: []validator.Object{criteria}}
}

// OptionalRules is an optional list of rules.
func OptionalRules(description string, attributes map[string]schema.Attribute) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Optional: true, MarkdownDescription: description, NestedObject: Rules(attributes)}
}

type ruleModel struct {
	All                  types.Bool   `tfsdk:"all"`
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
		made := target.Rule{
			ClusterName:          rule.ClusterName.ValueString(),
			ClusterGroup:         rule.ClusterGroup.ValueString(),
			ClusterSelector:      SelectorOf(ctx, rule.ClusterSelector, diags),
			ClusterGroupSelector: SelectorOf(ctx, rule.ClusterGroupSelector, diags),
		}
		if rule.All.ValueBool() {
			made.ClusterSelector = &fleetyaml.Selector{}
		}
		rules = append(rules, made)
	}
	return rules
}
