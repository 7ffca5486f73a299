package provider

import (
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
)

// call calls a function as Terraform does.
func call(t *testing.T, f function.Function, want attr.Value, arguments ...attr.Value) (attr.Value, *function.FuncError) {
	t.Helper()
	resp := function.RunResponse{Result: function.NewResultData(want)}
	f.Run(t.Context(), function.RunRequest{Arguments: function.NewArgumentsData(arguments)}, &resp)
	return resp.Result.Value(), resp.Error
}

// object is an HCL object.
func object(t *testing.T, value map[string]any) attr.Value {
	t.Helper()
	return types.DynamicValue(framework.Value(t.Context(), value))
}

func TestReleaseNameFunction(t *testing.T) {
	t.Parallel()
	got, err := call(t, newReleaseNameFunction(), types.StringUnknown(), types.StringValue("apps/Web_Shop"))
	if err != nil || !got.Equal(types.StringValue("apps-web-shop-2f7fd251")) {
		t.Errorf("release_name = %s, %v", got, err)
	}
}

func TestMatchFunction(t *testing.T) {
	t.Parallel()
	labels := types.MapValueMust(types.StringType, map[string]attr.Value{"env": types.StringValue("prod"), "my_zone": types.StringValue("a")})
	tests := []struct {
		name     string
		selector map[string]any
		want     bool
		err      string
	}{
		{name: "everything", selector: map[string]any{"all": true}, want: true},
		{name: "nothing", selector: map[string]any{}, err: "all = true"},
		{name: "labels", selector: map[string]any{"match_labels": map[string]any{"env": "prod", "my_zone": "a"}}, want: true},
		{name: "another value", selector: map[string]any{"match_labels": map[string]any{"env": "dev"}}},
		{name: "expressions", selector: map[string]any{"match_expressions": []any{map[string]any{"key": "env", "operator": "In", "values": []any{"prod", "test"}}}}, want: true},
		{name: "an operator that is none", selector: map[string]any{"match_expressions": []any{map[string]any{"key": "env", "operator": "Is"}}}, err: "operator"},
		{name: "a key that is none", selector: map[string]any{"labels": map[string]any{"env": "prod"}}, err: "Unknown key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := call(t, newMatchFunction(), types.BoolUnknown(), object(t, tt.selector), labels)
			switch {
			case tt.err != "":
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("match: %v, want an error about %q", err, tt.err)
				}
			case err != nil || !got.Equal(types.BoolValue(tt.want)):
				t.Errorf("match = %s, %v, want %t", got, err, tt.want)
			}
		})
	}
}

func TestMergeValuesFunction(t *testing.T) {
	t.Parallel()
	layers := types.TupleValueMust(
		[]attr.Type{types.DynamicType, types.DynamicType, types.DynamicType},
		[]attr.Value{
			object(t, map[string]any{"image": map[string]any{"tag": "1", "pull": true}, "list": []any{1.0, 2.0}}),
			types.DynamicNull(),
			object(t, map[string]any{"image": map[string]any{"tag": "2"}, "list": []any{int64(3)}, "none": nil}),
		})
	got, err := call(t, newMergeValuesFunction(), types.DynamicUnknown(), layers)
	if err != nil {
		t.Fatal(err)
	}
	free, plainErr := framework.Conversion{}.Plain(got)
	want := map[string]any{"image": map[string]any{"tag": "2", "pull": true}, "list": []any{int64(3)}, "none": nil}
	if diff := cmp.Diff(want, free); diff != "" || plainErr != nil {
		t.Errorf("merge_values (-want +got), %v:\n%s", plainErr, diff)
	}
	if _, err := call(t, newMergeValuesFunction(), types.DynamicUnknown(), types.TupleValueMust([]attr.Type{types.DynamicType}, []attr.Value{types.DynamicValue(types.StringValue("a"))})); err == nil {
		t.Error("a text was merged")
	}
}

func TestParseFleetYAMLFunction(t *testing.T) {
	t.Parallel()
	got, err := call(t, newParseFleetYAMLFunction(), types.DynamicUnknown(), types.StringValue("defaultNamespace: web\nhelm: {values: {replicas: 2}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	free, plainErr := framework.Conversion{}.Plain(got)
	want := map[string]any{"defaultNamespace": "web", "helm": map[string]any{"values": map[string]any{"replicas": int64(2)}}}
	if diff := cmp.Diff(want, free); diff != "" || plainErr != nil {
		t.Errorf("parse_fleet_yaml (-want +got), %v:\n%s", plainErr, diff)
	}
	// An integer is exact. Numbers in values are floating point, as charts get them in Fleet.
	got, err = call(t, newParseFleetYAMLFunction(), types.DynamicUnknown(), types.StringValue("forceSyncGeneration: 9007199254740993\nhelm: {values: {large: 9007199254740993, small: 0.1}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]attr.Value{
		"forceSyncGeneration": number(t, "9007199254740993"), "large": number(t, "9007199254740992"), "small": number(t, "0.1"),
	} {
		if found := field(t, got, text); !found.Equal(want) {
			t.Errorf("%s = %s, want %s", text, found, want)
		}
	}
	_, err = call(t, newParseFleetYAMLFunction(), types.DynamicUnknown(), types.StringValue("a: 1\nb: 2\n"))
	if err == nil || !strings.Contains(err.Error(), "fleet.yaml:1:1") && !strings.Contains(err.Error(), "Fleet.yaml:1:1") {
		t.Errorf("parse_fleet_yaml: %v", err)
	}
}

// number is a number as Terraform reads it.
func number(t *testing.T, text string) attr.Value {
	t.Helper()
	value, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	return types.NumberValue(value)
}

// field finds the first field of a name at any depth of objects, nil if there is none.
func field(t *testing.T, in attr.Value, name string) attr.Value {
	t.Helper()
	if dynamic, ok := in.(types.Dynamic); ok {
		in = dynamic.UnderlyingValue()
	}
	object, ok := in.(types.Object)
	if !ok {
		return nil
	}
	if found, ok := object.Attributes()[name]; ok {
		return found
	}
	for _, below := range object.Attributes() {
		if found := field(t, below, name); found != nil {
			return found
		}
	}
	return nil
}

func TestClustersFromKubeconfigFunction(t *testing.T) {
	t.Parallel()
	unknown := types.MapUnknown(clusterFromKubeconfigType())
	got, err := call(t, newClustersFromKubeconfigFunction(), unknown, types.StringValue("clusters:\n- {name: c, cluster: {server: x}}\ncontexts:\n- {name: dev, context: {cluster: c}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	entries, ok := got.(types.Map)
	if !ok || len(entries.Elements()) != 1 || !strings.Contains(entries.Elements()["dev"].String(), "server: x") {
		t.Errorf("the clusters are %s", got)
	}
	if _, err := call(t, newClustersFromKubeconfigFunction(), unknown, types.StringValue("{}")); err == nil || err.Text != "The kubeconfig has no contexts." {
		t.Errorf("error %v", err)
	}
}
