package provider

import (
	"context"
	"fmt"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"sigs.k8s.io/yaml"
)

var (
	_ basetypes.StringTypable                    = yamlType{}
	_ basetypes.StringValuableWithSemanticEquals = yamlValue{}
	_ xattr.ValidateableAttribute                = yamlValue{}
)

// yamlType is a string that holds a map as YAML or JSON. Two of them that mean
// the same are the same: comments, order and notation make no difference.
type yamlType struct{ basetypes.StringType }

func (t yamlType) Equal(other attr.Type) bool {
	same, ok := other.(yamlType)
	return ok && t.StringType.Equal(same.StringType)
}

func (t yamlType) String() string { return "provider.yamlType" }

func (t yamlType) ValueType(context.Context) attr.Value { return yamlValue{} }

func (t yamlType) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return yamlValue{StringValue: in}, nil
}

func (t yamlType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	value, err := t.StringType.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	text, ok := value.(basetypes.StringValue)
	if !ok {
		return nil, fmt.Errorf("unexpected value of type %T", value)
	}
	return yamlValue{StringValue: text}, nil
}

type yamlValue struct{ basetypes.StringValue }

func (v yamlValue) Equal(other attr.Value) bool {
	same, ok := other.(yamlValue)
	return ok && v.StringValue.Equal(same.StringValue)
}

func (v yamlValue) Type(context.Context) attr.Type { return yamlType{} }

// object reads the map. An empty string is an empty map.
func (v yamlValue) object() (map[string]any, error) {
	object := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(v.ValueString()), &object); err != nil {
		return nil, fmt.Errorf("values must be a map written as YAML or JSON: %w", err)
	}
	return object, nil
}

func (v yamlValue) StringSemanticEquals(_ context.Context, other basetypes.StringValuable) (bool, diag.Diagnostics) {
	same, ok := other.(yamlValue)
	if !ok {
		return false, nil
	}
	left, leftErr := v.object()
	right, rightErr := same.object()
	return leftErr == nil && rightErr == nil && reflect.DeepEqual(left, right), nil
}

func (v yamlValue) ValidateAttribute(_ context.Context, req xattr.ValidateAttributeRequest, resp *xattr.ValidateAttributeResponse) {
	if v.IsNull() || v.IsUnknown() {
		return
	}
	if _, err := v.object(); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid values", sentence(err))
	}
}
