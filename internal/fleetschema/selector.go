package fleetschema

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
)

// Selector returns the attributes of a selector for labels. An object with them needs criteria, see
// SelectorObject.
func Selector() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"all":          framework.OptionalBool("`true` selects everything, and excludes the other attributes."),
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

// SelectorObject is an optional selector for labels. One without criteria is an error.
func SelectorObject(description string) schema.SingleNestedAttribute {
	selector := framework.OptionalObject(description, Selector())
	selector.Validators = []validator.Object{framework.Criteria{"all", "match_labels", "match_expressions"}}
	return selector
}

type selectorModel struct {
	All              types.Bool `tfsdk:"all"`
	MatchLabels      types.Map  `tfsdk:"match_labels"`
	MatchExpressions types.List `tfsdk:"match_expressions"`
}

type requirementModel struct {
	Key      types.String `tfsdk:"key"`
	Operator types.String `tfsdk:"operator"`
	Values   types.List   `tfsdk:"values"`
}

// SelectorOf returns the selector of an object with the attributes of Selector, nil if it was not
// given.
func SelectorOf(ctx context.Context, value types.Object, diags *diag.Diagnostics) *fleetyaml.Selector {
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
