package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
)

type selectorModel struct {
	MatchLabels      types.Map  `tfsdk:"match_labels"`
	MatchExpressions types.List `tfsdk:"match_expressions"`
}

type requirementModel struct {
	Key      types.String `tfsdk:"key"`
	Operator types.String `tfsdk:"operator"`
	Values   types.List   `tfsdk:"values"`
}

// selectorOf is nil for a selector that was not given.
func selectorOf(ctx context.Context, value types.Object, diags *diag.Diagnostics) *fleetyaml.Selector {
	if value.IsNull() || value.IsUnknown() {
		return nil
	}
	var model selectorModel
	diags.Append(framework.As(ctx, value, &model)...)
	selector := &fleetyaml.Selector{MatchLabels: framework.StringMap(ctx, model.MatchLabels, diags)}
	for _, item := range model.MatchExpressions.Elements() {
		var requirement requirementModel
		diags.Append(framework.As(ctx, item, &requirement)...)
		selector.MatchExpressions = append(selector.MatchExpressions, fleetyaml.Requirement{
			Key:      requirement.Key.ValueString(),
			Operator: requirement.Operator.ValueString(),
			Values:   framework.Strings(ctx, requirement.Values, diags),
		})
	}
	return selector
}

// definition leaves Terraform: attributes that are called like the keys of a
// fleet.yaml, in snake case, become what the fleet.yaml would say.
func definition(attributes map[string]attr.Value) (fleetyaml.Definition, error) {
	options := framework.Conversion{Object: func(object map[string]any) any { return fleetyaml.Attributes(object) }}
	fields, err := options.Fields(attributes)
	if err != nil {
		return fleetyaml.Definition{}, err
	}
	return fleetyaml.Attributes(fields).Definition()
}
