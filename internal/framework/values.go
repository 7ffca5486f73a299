package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// As reads an object into a model. Unknown values stay unknown in the model.
func As(ctx context.Context, value attr.Value, model any) diag.Diagnostics {
	object, ok := value.(types.Object)
	if !ok {
		return diag.Diagnostics{diag.NewErrorDiagnostic("Unexpected value",
			"This is an error in the provider, please report it: "+value.Type(ctx).String()+" is not an object.")}
	}
	return object.As(ctx, model, basetypes.ObjectAsOptions{UnhandledNullAsEmpty: true, UnhandledUnknownAsEmpty: true})
}

// AsPlain reads an object into a model of plain values: null and unknown are empty.
func AsPlain(ctx context.Context, value attr.Value, model any, diags *diag.Diagnostics) {
	if refuseNulls(value, diags) {
		diags.Append(As(ctx, value, model)...)
	}
}

// Entries reads a map of objects: each into its model M of plain values, which plain converts. An
// entry with an unknown value becomes unknown.
func Entries[M, T any](ctx context.Context, entries types.Map, unknown T, plain func(M) T, diags *diag.Diagnostics) map[string]T {
	found := make(map[string]T, len(entries.Elements()))
	for key, value := range entries.Elements() {
		if IsUnknownInside(ctx, value) {
			found[key] = unknown
			continue
		}
		var model M
		AsPlain(ctx, value, &model, diags)
		found[key] = plain(model)
	}
	return found
}

// refuseNulls reports a null in a list or a map of texts, at any depth of objects.
func refuseNulls(value attr.Value, diags *diag.Diagnostics) bool {
	switch value := value.(type) {
	case types.Object:
		for _, attribute := range value.Attributes() {
			if !refuseNulls(attribute, diags) {
				return false
			}
		}
	case types.List:
		for _, element := range value.Elements() {
			if element.IsNull() {
				diags.AddError("Null in a list", "A list of strings contains null. Omit it, for example with compact().")
				return false
			}
		}
	case types.Map:
		for key, element := range value.Elements() {
			if element.IsNull() {
				diags.AddError("Null in a map", "The value of "+key+" is null. Omit its key.")
				return false
			}
		}
	}
	return true
}

// Strings returns the elements of a list, and reports a null among them.
func Strings(ctx context.Context, list types.List, diags *diag.Diagnostics) (texts []string) {
	if !list.IsNull() && !list.IsUnknown() && refuseNulls(list, diags) {
		diags.Append(list.ElementsAs(ctx, &texts, false)...)
	}
	return texts
}

// StringMap returns the elements of a map, and reports a null among them.
func StringMap(ctx context.Context, values types.Map, diags *diag.Diagnostics) (texts map[string]string) {
	if !values.IsNull() && !values.IsUnknown() && refuseNulls(values, diags) {
		diags.Append(values.ElementsAs(ctx, &texts, false)...)
	}
	return texts
}

// KnownStrings returns the strings among values by their names, "" for one that is null or
// unknown.
func KnownStrings(values map[string]attr.Value) map[string]string {
	texts := make(map[string]string, len(values))
	for name, value := range values {
		if text, ok := value.(types.String); ok {
			texts[name] = text.ValueString()
		}
	}
	return texts
}

// StringValues returns strings as values by their names.
func StringValues(texts map[string]string) map[string]attr.Value {
	values := make(map[string]attr.Value, len(texts))
	for name, text := range texts {
		values[name] = types.StringValue(text)
	}
	return values
}

// StringMapValue returns a map of strings.
func StringMapValue(texts map[string]string) types.Map {
	return types.MapValueMust(types.StringType, StringValues(texts))
}

// StringListValue returns a list of strings.
func StringListValue(texts []string) types.List {
	values := make([]attr.Value, len(texts))
	for i, text := range texts {
		values[i] = types.StringValue(text)
	}
	return types.ListValueMust(types.StringType, values)
}

// StringTypes returns the types of attributes that are strings.
func StringTypes(names ...string) map[string]attr.Type {
	kinds := make(map[string]attr.Type, len(names))
	for _, name := range names {
		kinds[name] = types.StringType
	}
	return kinds
}

// AnyUnknown reports whether any value, or anything inside one, is unknown.
func AnyUnknown(ctx context.Context, values ...attr.Value) bool {
	return slices.ContainsFunc(values, func(value attr.Value) bool { return IsUnknownInside(ctx, value) })
}

// IsUnknownInside reports whether a value or anything inside it is unknown.
func IsUnknownInside(ctx context.Context, value attr.Value) bool {
	if value.IsNull() {
		return false
	}
	raw, err := value.ToTerraformValue(ctx)
	return err != nil || !raw.IsFullyKnown()
}

// Value returns a value of JSON of any shape: objects and tuples.
func Value(ctx context.Context, value any) attr.Value {
	switch value := value.(type) {
	case map[string]any:
		kinds, values := make(map[string]attr.Type, len(value)), make(map[string]attr.Value, len(value))
		for key, field := range value {
			values[key] = Value(ctx, field)
			kinds[key] = values[key].Type(ctx)
		}
		return types.ObjectValueMust(kinds, values)
	case []any:
		kinds, values := make([]attr.Type, len(value)), make([]attr.Value, len(value))
		for i, item := range value {
			values[i] = Value(ctx, item)
			kinds[i] = values[i].Type(ctx)
		}
		return types.TupleValueMust(kinds, values)
	case string:
		return types.StringValue(value)
	case bool:
		return types.BoolValue(value)
	case float64:
		return types.NumberValue(big.NewFloat(value))
	case json.Number:
		const precision = 512 // The precision of Terraform.
		if number, _, err := big.ParseFloat(value.String(), 10, precision, big.ToNearestEven); err == nil {
			return types.NumberValue(number)
		}
	case int64:
		return types.NumberValue(new(big.Float).SetInt64(value))
	}
	return types.DynamicNull()
}

// Conversion converts values to plain values of any shape, as in JSON; null is nil.
type Conversion struct {
	// Object converts the fields of an object, if it is set. The elements of a map stay as they
	// are.
	Object func(map[string]any) any
	// Unknown is the result for an unknown value.
	Unknown any
	// Floats converts every number to a float64. Without it, a whole number is an int64.
	Floats bool
}

// Plain converts a value.
func (c Conversion) Plain(value attr.Value) (any, error) {
	if value.IsUnknown() {
		return c.Unknown, nil
	}
	if value.IsNull() {
		return nil, nil // nil is JSON's null
	}
	switch value := value.(type) {
	case YAMLValue:
		return value.Object()
	case types.String:
		return value.ValueString(), nil
	case types.Bool:
		return value.ValueBool(), nil
	case types.Int64:
		return value.ValueInt64(), nil
	case types.Number:
		return c.number(value.ValueBigFloat()), nil
	case types.Dynamic:
		if value.IsUnderlyingValueUnknown() {
			return c.Unknown, nil
		}
		if value.IsUnderlyingValueNull() {
			return nil, nil // nil is JSON's null
		}
		return c.Plain(value.UnderlyingValue())
	case types.Object:
		fields, err := c.Fields(value.Attributes())
		if c.Object == nil {
			return fields, err
		}
		return c.Object(fields), err
	case types.Map:
		return c.Fields(value.Elements())
	case interface{ Elements() []attr.Value }:
		return c.items(value.Elements())
	}
	return nil, fmt.Errorf("unexpected value of type %T; this is an error of the provider, please report it", value)
}

func (c Conversion) number(value *big.Float) any {
	if whole, accuracy := value.Int64(); accuracy == big.Exact && !c.Floats {
		return whole
	}
	number, _ := value.Float64()
	return number
}

func (c Conversion) items(elements []attr.Value) ([]any, error) {
	items := make([]any, len(elements))
	for i, element := range elements {
		item, err := c.Plain(element)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		items[i] = item
	}
	return items, nil
}

// Fields converts values by their names.
func (c Conversion) Fields(of map[string]attr.Value) (map[string]any, error) {
	fields := make(map[string]any, len(of))
	for name, value := range of {
		field, err := c.Plain(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fields[name] = field
	}
	return fields, nil
}
