package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// as reads an object into a model. Unknown values stay unknown in the model.
func as(ctx context.Context, value attr.Value, model any) diag.Diagnostics {
	object, ok := value.(types.Object)
	if !ok {
		return diag.Diagnostics{diag.NewErrorDiagnostic("Unexpected value",
			"This is an error in the provider, please report it: "+value.Type(ctx).String()+" is no object.")}
	}
	return object.As(ctx, model, basetypes.ObjectAsOptions{UnhandledNullAsEmpty: true, UnhandledUnknownAsEmpty: true})
}

func stringsOf(ctx context.Context, list types.List, diags *diag.Diagnostics) []string {
	if list.IsNull() || list.IsUnknown() {
		return nil
	}
	for _, element := range list.Elements() {
		if element.IsNull() {
			diags.AddError("Null in a list", "A list of texts holds null. Leave it out, for example with compact().")
			return nil
		}
	}
	var texts []string
	diags.Append(list.ElementsAs(ctx, &texts, false)...)
	return texts
}

func stringMapOf(ctx context.Context, values types.Map, diags *diag.Diagnostics) map[string]string {
	if values.IsNull() || values.IsUnknown() {
		return nil
	}
	for key, element := range values.Elements() {
		if element.IsNull() {
			diags.AddError("Null in a map", "The value of "+key+" is null. Leave its key out.")
			return nil
		}
	}
	var texts map[string]string
	diags.Append(values.ElementsAs(ctx, &texts, false)...)
	return texts
}

// anyUnknown says whether any value, or anything inside one, is unknown.
func anyUnknown(ctx context.Context, values ...attr.Value) bool {
	for _, value := range values {
		if isUnknownInside(ctx, value) {
			return true
		}
	}
	return false
}

// isUnknownInside says whether a value or anything inside it is unknown.
func isUnknownInside(ctx context.Context, value attr.Value) bool {
	if value.IsNull() {
		return false
	}
	raw, err := value.ToTerraformValue(ctx)
	return err != nil || !raw.IsFullyKnown()
}

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
	diags.Append(as(ctx, value, &model)...)
	selector := &fleetyaml.Selector{MatchLabels: stringMapOf(ctx, model.MatchLabels, diags)}
	for _, item := range model.MatchExpressions.Elements() {
		var requirement requirementModel
		diags.Append(as(ctx, item, &requirement)...)
		selector.MatchExpressions = append(selector.MatchExpressions, fleetyaml.Requirement{
			Key:      requirement.Key.ValueString(),
			Operator: requirement.Operator.ValueString(),
			Values:   stringsOf(ctx, requirement.Values, diags),
		})
	}
	return selector
}
