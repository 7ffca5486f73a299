package fleetschema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
)

func texts(of map[string]string) types.Map {
	values := map[string]attr.Value{}
	for key, value := range of {
		values[key] = types.StringValue(value)
	}
	return types.MapValueMust(types.StringType, values)
}

// block returns a nested object with some of its attributes.
func block(t *testing.T, attributes map[string]attr.Value) types.Object {
	t.Helper()
	kinds := map[string]attr.Type{}
	for name, value := range attributes {
		kinds[name] = value.Type(t.Context())
	}
	return types.ObjectValueMust(kinds, attributes)
}

func list(t *testing.T, items ...attr.Value) types.List {
	t.Helper()
	return types.ListValueMust(items[0].Type(t.Context()), items)
}

func yamlText(text string) framework.YAMLValue {
	return framework.YAMLValue{StringValue: basetypes.NewStringValue(text)}
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	no, seven := false, 7
	tests := []struct {
		name string
		in   map[string]attr.Value
		want fleetyaml.Definition
	}{
		{"nothing", map[string]attr.Value{"namespace": types.StringNull(), "helm": types.ObjectNull(nil), "labels": types.MapNull(types.StringType)}, fleetyaml.Definition{}},
		{
			"keys of maps are not names of attributes",
			map[string]attr.Value{"labels": texts(map[string]string{"my_team": "a"}), "namespace_labels": texts(map[string]string{"a_b": "c"})},
			fleetyaml.Definition{Labels: map[string]string{"my_team": "a"}, Options: fleetyaml.Options{NamespaceLabels: map[string]string{"a_b": "c"}}},
		},
		{
			"names that are not what they look like",
			map[string]attr.Value{
				"delete_crd_resources": types.BoolValue(true), "create_namespace": types.BoolValue(false),
				"depends_on_bundles": list(t, block(t, map[string]attr.Value{"name": types.StringValue("db")})),
				"helm":               block(t, map[string]attr.Value{"disable_dns": types.BoolValue(true), "values": yamlText("a_b: {c_d: 1}\n")}),
			},
			fleetyaml.Definition{
				DependsOn: []fleetyaml.Dependency{{Name: "db"}},
				Options: fleetyaml.Options{
					DeleteCRDResources: true, CreateNamespace: &no,
					Helm: &fleetyaml.Helm{DisableDNS: true, Values: map[string]any{"a_b": map[string]any{"c_d": 1.0}}},
				},
			},
		},
		{
			"everything is an empty selector in Fleet",
			map[string]attr.Value{"target_customizations": list(t, block(t, map[string]attr.Value{
				"all": types.BoolNull(), "cluster_selector": block(t, map[string]attr.Value{"all": types.BoolValue(true), "match_labels": types.MapNull(types.StringType)}),
			}), block(t, map[string]attr.Value{
				"all": types.BoolValue(true), "cluster_selector": types.ObjectNull(map[string]attr.Type{"all": types.BoolType, "match_labels": types.MapType{ElemType: types.StringType}}),
			}))},
			fleetyaml.Definition{TargetCustomizations: []fleetyaml.Customization{
				{Criteria: fleetyaml.Criteria{ClusterSelector: &fleetyaml.Selector{}}},
				{Criteria: fleetyaml.Criteria{ClusterSelector: &fleetyaml.Selector{}}},
			}},
		},
		{
			"counts are numbers or percentages",
			map[string]attr.Value{"rollout_strategy": block(t, map[string]attr.Value{
				"max_unavailable": types.StringValue("25%"), "auto_partition_size": types.StringValue("0"), "max_new": types.Int64Value(7),
			})},
			fleetyaml.Definition{RolloutStrategy: &fleetyaml.RolloutStrategy{
				MaxUnavailable: &fleetyaml.Count{Text: "25%"}, AutoPartitionSize: &fleetyaml.Count{}, MaxNew: &seven,
			}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := DefinitionOf(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("definition (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := DefinitionOf(map[string]attr.Value{"helm": block(t, map[string]attr.Value{"values": yamlText("[a]")})}); err == nil {
		t.Error("values that are a list were taken")
	}
}
