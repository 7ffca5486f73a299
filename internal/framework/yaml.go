// Package framework extends terraform-plugin-framework with what any provider could use: types of
// attributes, validators, and conversions between its values and plain ones. It does not depend on
// Fleet.
package framework

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"sigs.k8s.io/yaml"
)

var (
	_ basetypes.StringTypable                    = YAMLType{}
	_ basetypes.StringValuableWithSemanticEquals = YAMLValue{}
	_ xattr.ValidateableAttribute                = YAMLValue{}
)

// YAMLType is a string that is a map as YAML or JSON. Two values are semantically equal if their
// maps are equal: comments, order and notation make no difference.
type YAMLType struct{ basetypes.StringType }

// Equal reports whether another type is this one.
func (t YAMLType) Equal(other attr.Type) bool {
	same, ok := other.(YAMLType)
	return ok && t.StringType.Equal(same.StringType)
}

// String returns the name of the type.
func (t YAMLType) String() string { return "framework.YAMLType" }

// ValueType returns a value of the type.
func (t YAMLType) ValueType(context.Context) attr.Value { return YAMLValue{} }

// ValueFromString makes a value of a string.
func (t YAMLType) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return YAMLValue{StringValue: in}, nil
}

// ValueFromTerraform makes a value of a Terraform value.
func (t YAMLType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	value, err := t.StringType.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	text, ok := value.(basetypes.StringValue)
	if !ok {
		return nil, fmt.Errorf("unexpected value of type %T", value)
	}
	return YAMLValue{StringValue: text}, nil
}

// YAMLValue is a value of YAMLType.
type YAMLValue struct{ basetypes.StringValue }

// Equal reports whether another value has the same text.
func (v YAMLValue) Equal(other attr.Value) bool {
	same, ok := other.(YAMLValue)
	return ok && v.StringValue.Equal(same.StringValue)
}

// Type returns the type.
func (v YAMLValue) Type(context.Context) attr.Type { return YAMLType{} }

// Object reads the map. An empty string is an empty map.
func (v YAMLValue) Object() (map[string]any, error) {
	object, err := v.parse()
	if err != nil {
		return nil, fmt.Errorf("values must be a map written as YAML or JSON: %w", err)
	}
	return object, nil
}

func (v YAMLValue) parse() (map[string]any, error) {
	object := map[string]any{}
	err := yaml.UnmarshalStrict([]byte(v.ValueString()), &object)
	return object, err
}

// StringSemanticEquals reports whether two values are the same map.
func (v YAMLValue) StringSemanticEquals(_ context.Context, other basetypes.StringValuable) (bool, diag.Diagnostics) {
	same, ok := other.(YAMLValue)
	if !ok {
		return false, nil
	}
	left, leftErr := v.Object()
	right, rightErr := same.Object()
	return leftErr == nil && rightErr == nil && reflect.DeepEqual(left, right), nil
}

// ValidateAttribute accepts a map.
func (v YAMLValue) ValidateAttribute(_ context.Context, req xattr.ValidateAttributeRequest, resp *xattr.ValidateAttributeResponse) {
	if v.IsNull() || v.IsUnknown() {
		return
	}
	if _, err := v.parse(); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid values",
			"Values must be a map written as YAML or JSON: "+strings.TrimSuffix(err.Error(), ".")+".")
	}
}
