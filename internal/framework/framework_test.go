package framework_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	provider "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	resource "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
)

func TestYAMLValuesMeanTheSame(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		left, right string
		want        bool
	}{
		"order and comments": {left: "a: 1\nb: [x]\n", right: "# hi\nb:\n- x\na: 1\n", want: true},
		"YAML and JSON":      {left: "a: {b: true}", right: `{"a":{"b":true}}`, want: true},
		"empty and nothing":  {left: "", right: "{}", want: true},
		"another value":      {left: "a: 1", right: "a: 2"},
		"another type":       {left: "a: 1", right: `a: "1"`},
		"not YAML":           {left: "a: [", right: "a: ["},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left := framework.YAMLValue{StringValue: basetypes.NewStringValue(test.left)}
			got, diags := left.StringSemanticEquals(t.Context(), framework.YAMLValue{StringValue: basetypes.NewStringValue(test.right)})
			if diags.HasError() || got != test.want {
				t.Errorf("got %t, want %t (%v)", got, test.want, diags)
			}
		})
	}
}

func TestConversion(t *testing.T) {
	t.Parallel()
	text := map[string]attr.Type{"a": types.StringType}
	tests := map[string]struct {
		with  framework.Conversion
		value attr.Value
		want  any
		fails bool
	}{
		"null":                {value: types.StringNull()},
		"unknown":             {value: types.StringUnknown()},
		"unknown, replaced":   {with: framework.Conversion{Unknown: "?"}, value: types.StringUnknown(), want: "?"},
		"unknown below":       {with: framework.Conversion{Unknown: "?"}, value: types.ObjectValueMust(text, map[string]attr.Value{"a": types.StringUnknown()}), want: map[string]any{"a": "?"}},
		"unknown dynamic":     {with: framework.Conversion{Unknown: "?"}, value: types.DynamicValue(types.StringUnknown()), want: "?"},
		"null dynamic":        {with: framework.Conversion{Unknown: "?"}, value: types.DynamicValue(types.StringNull())},
		"whole number":        {value: framework.Value(t.Context(), 3.0), want: int64(3)},
		"whole number, float": {with: framework.Conversion{Floats: true}, value: framework.Value(t.Context(), int64(3)), want: 3.0},
		"fraction":            {value: framework.Value(t.Context(), 0.5), want: 0.5},
		"YAML":                {value: framework.YAMLValue{StringValue: basetypes.NewStringValue("a: [1]")}, want: map[string]any{"a": []any{1.0}}},
		"no YAML":             {value: framework.YAMLValue{StringValue: basetypes.NewStringValue("a: [")}, fails: true},
		"tuple":               {value: framework.Value(t.Context(), []any{"x", true, nil}), want: []any{"x", true, nil}},
		"objects, not maps": {
			with:  framework.Conversion{Object: func(of map[string]any) any { return len(of) }},
			value: framework.Value(t.Context(), []any{map[string]any{"a": "b"}}),
			want:  []any{1},
		},
		"map": {
			with:  framework.Conversion{Object: func(of map[string]any) any { return len(of) }},
			value: framework.StringMapValue(map[string]string{"a": "b"}), want: map[string]any{"a": "b"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.with.Plain(test.value)
			if test.fails {
				if err == nil {
					t.Errorf("got %v, want an error", got)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("(-want +got), %v:\n%s", err, diff)
			}
		})
	}
}

func TestNullsAreReported(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	list := types.ListValueMust(types.StringType, []attr.Value{types.StringValue("a"), types.StringNull()})
	if got := framework.Strings(t.Context(), list, &diags); got != nil || diags.ErrorsCount() != 1 {
		t.Errorf("got %v, %v", got, diags)
	}
	values := types.MapValueMust(types.StringType, map[string]attr.Value{"a": types.StringNull()})
	if got := framework.StringMap(t.Context(), values, &diags); got != nil || diags.ErrorsCount() != 2 {
		t.Errorf("got %v, %v", got, diags)
	}
	if got := framework.Strings(t.Context(), types.ListUnknown(types.StringType), &diags); got != nil || diags.ErrorsCount() != 2 {
		t.Errorf("got %v, %v", got, diags)
	}
}

func TestUnknownInside(t *testing.T) {
	t.Parallel()
	known, unknown := types.StringValue("a"), types.StringUnknown()
	list := func(of attr.Value) attr.Value { return types.ListValueMust(types.StringType, []attr.Value{of}) }
	if framework.AnyUnknown(t.Context(), known, list(known), types.StringNull()) {
		t.Error("known values are unknown")
	}
	if !framework.AnyUnknown(t.Context(), known, list(unknown)) || !framework.IsUnknownInside(t.Context(), unknown) {
		t.Error("unknown values are known")
	}
}

// Attributes of a schema are written once, for resources.
func TestAttributesOfAnotherKind(t *testing.T) {
	t.Parallel()
	required := []validator.String{framework.Required{}}
	attributes := map[string]resource.Attribute{
		"text": resource.StringAttribute{
			Optional: true, Computed: true, Sensitive: true, MarkdownDescription: "A text.", Validators: required, Default: stringdefault.StaticString("x"),
		},
		"objects": framework.OptionalObjects("Objects.", map[string]resource.Attribute{"flag": framework.OptionalBool("A flag.")}),
		"texts":   framework.OptionalStringMap("Texts."),
	}
	ofDataSource := map[string]datasource.Attribute{
		"text": datasource.StringAttribute{Optional: true, Computed: true, Sensitive: true, MarkdownDescription: "A text.", Validators: required},
		"objects": datasource.ListNestedAttribute{
			Optional: true, MarkdownDescription: "Objects.",
			NestedObject: datasource.NestedAttributeObject{Attributes: map[string]datasource.Attribute{"flag": datasource.BoolAttribute{Optional: true, MarkdownDescription: "A flag."}}},
		},
		"texts": datasource.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Texts."},
	}
	ofProvider := map[string]provider.Attribute{
		"text": provider.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: "A text.", Validators: required},
		"objects": provider.ListNestedAttribute{
			Optional: true, MarkdownDescription: "Objects.",
			NestedObject: provider.NestedAttributeObject{Attributes: map[string]provider.Attribute{"flag": provider.BoolAttribute{Optional: true, MarkdownDescription: "A flag."}}},
		},
		"texts": provider.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Texts."},
	}
	if diff := cmp.Diff(ofDataSource, framework.DataSource(attributes)); diff != "" {
		t.Errorf("of a data source (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(ofProvider, framework.Provider(attributes)); diff != "" {
		t.Errorf("of a provider (-want +got):\n%s", diff)
	}
}

func TestValidators(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		of   validator.String
		text string
		want string
	}{
		"duration":           {of: framework.Duration(), text: "90s"},
		"no duration":        {of: framework.Duration(), text: "90", want: `"90" must be a duration above zero, such as 90s or 5m.`},
		"no time":            {of: framework.Duration(), text: "0s", want: `"0s" must be a duration above zero, such as 90s or 5m.`},
		"expression":         {of: framework.RegularExpression(), text: "^a+$"},
		"no expression":      {of: framework.RegularExpression(), text: "(", want: "Error parsing regexp: missing closing ): `(`."},
		"what a caller says": {of: framework.Text("", "Wrong", func(text string) string { return text + "?" }), text: "x", want: "x?"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var resp validator.StringResponse
			test.of.ValidateString(t.Context(), validator.StringRequest{Path: path.Root("a"), ConfigValue: types.StringValue(test.text)}, &resp)
			got := ""
			for _, found := range resp.Diagnostics {
				got += found.Detail()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	type model struct {
		Text string `tfsdk:"text"`
	}
	kinds := map[string]attr.Type{"text": types.StringType}
	object := func(text attr.Value) attr.Value {
		return types.ObjectValueMust(kinds, map[string]attr.Value{"text": text})
	}
	entries := types.MapValueMust(types.ObjectType{AttrTypes: kinds}, map[string]attr.Value{
		"known": object(types.StringValue("x")), "null": object(types.StringNull()), "unknown": object(types.StringUnknown()),
	})
	var diags diag.Diagnostics
	got := framework.Entries(t.Context(), entries, "?", func(m model) string { return "<" + m.Text + ">" }, &diags)
	if diff := cmp.Diff(map[string]string{"known": "<x>", "null": "<>", "unknown": "?"}, got); diff != "" || diags.HasError() {
		t.Errorf("(-want +got), %v:\n%s", diags, diff)
	}
}
