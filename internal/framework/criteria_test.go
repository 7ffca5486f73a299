package framework_test

import (
	"context"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
)

// selection is an object with criteria. Attributes that are not given are null.
func selection(given map[string]attr.Value) types.Object {
	values := map[string]attr.Value{
		"all": types.BoolNull(), "name": types.StringNull(), "labels": types.MapNull(types.StringType), "list": types.ListNull(types.StringType), "other": types.StringNull(),
		"nested": types.ObjectNull(map[string]attr.Type{"name": types.StringType}),
	}
	kinds := map[string]attr.Type{}
	for name, value := range values {
		kinds[name] = value.Type(context.Background())
	}
	maps.Copy(values, given)
	return types.ObjectValueMust(kinds, values)
}

func validated(t *testing.T, by validator.Object, at path.Path, object types.Object) []string {
	t.Helper()
	var resp validator.ObjectResponse
	by.ValidateObject(t.Context(), validator.ObjectRequest{Path: at, ConfigValue: object}, &resp)
	var said []string
	for _, found := range resp.Diagnostics {
		said = append(said, found.Severity().String()+": "+found.Summary())
	}
	return said
}

func TestCriteria(t *testing.T) {
	t.Parallel()
	nothing, contradiction := []string{"Error: Nothing is selected"}, []string{"Error: Contradictory criteria"}
	kinds := selection(nil).AttributeTypes(t.Context())
	nested := map[string]attr.Type{"name": types.StringType}
	attribute, element := path.Root("selector"), path.Root("targets").AtListIndex(0)
	tests := map[string]struct {
		at     path.Path
		object types.Object
		want   []string
	}{
		"left out":               {at: attribute, object: types.ObjectNull(kinds)},
		"unknown":                {at: element, object: types.ObjectUnknown(kinds)},
		"a null element":         {at: element, object: types.ObjectNull(kinds), want: nothing},
		"a null entry":           {at: path.Root("windows").AtMapKey("x"), object: types.ObjectNull(kinds), want: nothing},
		"nothing":                {at: element, object: selection(nil), want: nothing},
		"another attribute":      {at: element, object: selection(map[string]attr.Value{"other": types.StringValue("x")}), want: nothing},
		"not all":                {at: element, object: selection(map[string]attr.Value{"all": types.BoolValue(false)}), want: nothing},
		"no labels":              {at: element, object: selection(map[string]attr.Value{"labels": types.MapValueMust(types.StringType, nil)}), want: nothing},
		"an empty list":          {at: element, object: selection(map[string]attr.Value{"list": types.ListValueMust(types.StringType, nil)}), want: nothing},
		"an empty name":          {at: element, object: selection(map[string]attr.Value{"name": types.StringValue("")}), want: nothing},
		"everything":             {at: element, object: selection(map[string]attr.Value{"all": types.BoolValue(true)})},
		"a name":                 {at: element, object: selection(map[string]attr.Value{"name": types.StringValue("x")})},
		"a name, not all":        {at: element, object: selection(map[string]attr.Value{"all": types.BoolValue(false), "name": types.StringValue("x")})},
		"labels":                 {at: element, object: selection(map[string]attr.Value{"labels": framework.StringMapValue(map[string]string{"a": "b"})})},
		"an unknown label":       {at: element, object: selection(map[string]attr.Value{"labels": types.MapValueMust(types.StringType, map[string]attr.Value{"a": types.StringUnknown()})})},
		"unknown labels":         {at: element, object: selection(map[string]attr.Value{"labels": types.MapUnknown(types.StringType)})},
		"an object":              {at: element, object: selection(map[string]attr.Value{"nested": types.ObjectValueMust(nested, map[string]attr.Value{"name": types.StringNull()})})},
		"everything and a name":  {at: element, object: selection(map[string]attr.Value{"all": types.BoolValue(true), "name": types.StringValue("x")}), want: contradiction},
		"everything and unknown": {at: element, object: selection(map[string]attr.Value{"all": types.BoolValue(true), "labels": types.MapUnknown(types.StringType)}), want: contradiction},
		"unknown and a name":     {at: element, object: selection(map[string]attr.Value{"all": types.BoolUnknown(), "name": types.StringValue("x")})},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := validated(t, framework.Criteria{"all", "name", "labels", "list", "nested"}, test.at, test.object)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	warning := []string{"Warning: Nothing is set"}
	kinds := selection(nil).AttributeTypes(t.Context())
	tests := map[string]struct {
		of     framework.Options
		object types.Object
		want   []string
	}{
		"left out":                  {object: types.ObjectNull(kinds)},
		"unknown":                   {object: types.ObjectUnknown(kinds)},
		"nulls":                     {object: selection(nil), want: warning},
		"a false":                   {object: selection(map[string]attr.Value{"all": types.BoolValue(false)})},
		"something unknown":         {object: selection(map[string]attr.Value{"name": types.StringUnknown()})},
		"only another":              {of: framework.Options{"name"}, object: selection(map[string]attr.Value{"all": types.BoolValue(true)}), want: warning},
		"one of the names":          {of: framework.Options{"name"}, object: selection(map[string]attr.Value{"name": types.StringValue("")})},
		"nulls, and others missing": {of: framework.Options{"name"}, object: selection(nil)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, validated(t, test.of, path.Root("helm"), test.object)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
