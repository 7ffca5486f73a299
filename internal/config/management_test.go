package config

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
)

// engineValue returns a value of the engine attribute with some of its attributes.
func engineValue(t *testing.T, given map[string]attr.Value) types.Object {
	t.Helper()
	kinds, ok := engineAttribute().GetType().(types.ObjectType)
	if !ok {
		t.Fatalf("the engine is %T", engineAttribute().GetType())
	}
	all := map[string]attr.Value{}
	for name, kind := range kinds.AttrTypes {
		null, err := kind.ValueFromTerraform(t.Context(), tftypes.NewValue(kind.TerraformType(t.Context()), nil))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = null
	}
	maps.Copy(all, given)
	return types.ObjectValueMust(kinds.AttrTypes, all)
}

func TestManagement(t *testing.T) {
	t.Parallel()
	kind := engineAttribute().GetType().(types.ObjectType) //nolint:forcetypeassert // as in engineValue
	path := types.StringValue("config")
	tests := map[string]struct {
		value types.Object
		want  *Management
		wrong bool
	}{
		"none":    {value: types.ObjectNull(kind.AttrTypes)},
		"unknown": {value: types.ObjectUnknown(kind.AttrTypes), want: &Management{Unknown: true}},
		"defaults": {
			value: engineValue(t, map[string]attr.Value{"config_path": path}),
			want:  &Management{Connection: connect.Connection{ConfigPaths: []string{"config"}}, Namespace: "fleet-default", OfflineAfter: 30 * time.Minute},
		},
		"all": {
			value: engineValue(t, map[string]attr.Value{
				"config_path": path, "config_context": types.StringValue("mgmt"), "namespace": types.StringValue("fleet-local"), "offline_after": types.StringValue("1h"),
			}),
			want: &Management{Connection: connect.Connection{ConfigPaths: []string{"config"}, ConfigContext: "mgmt"}, Namespace: "fleet-local", OfflineAfter: time.Hour},
		},
		"hands back": {
			value: engineValue(t, map[string]attr.Value{"config_path": path, "deliver": types.BoolValue(false)}),
			want:  &Management{Connection: connect.Connection{ConfigPaths: []string{"config"}}, Namespace: "fleet-default", OfflineAfter: 30 * time.Minute, HandsBack: true},
		},
		"delivers": {
			value: engineValue(t, map[string]attr.Value{"config_path": path, "deliver": types.BoolValue(true)}),
			want:  &Management{Connection: connect.Connection{ConfigPaths: []string{"config"}}, Namespace: "fleet-default", OfflineAfter: 30 * time.Minute},
		},
		"an unknown part": {
			value: engineValue(t, map[string]attr.Value{"config_path": path, "config_context": types.StringUnknown()}),
			want:  &Management{Unknown: true},
		},
		"an unknown namespace": {
			value: engineValue(t, map[string]attr.Value{"config_path": path, "namespace": types.StringUnknown()}),
			want:  &Management{Unknown: true},
		},
		"no connection": {
			value: engineValue(t, map[string]attr.Value{"config_context": types.StringValue("mgmt")}),
			want:  &Management{Connection: connect.Connection{ConfigContext: "mgmt"}, Namespace: "fleet-default", OfflineAfter: 30 * time.Minute},
			wrong: true,
		},
		"the environment": {
			value: engineValue(t, map[string]attr.Value{"from_environment": types.BoolValue(true)}),
			want:  &Management{Connection: connect.Connection{FromEnvironment: true}, Namespace: "fleet-default", OfflineAfter: 30 * time.Minute},
		},
		"no way to authenticate": {
			value: engineValue(t, map[string]attr.Value{"host": types.StringValue("https://127.0.0.1:1")}),
			want:  &Management{Connection: connect.Connection{Host: "https://127.0.0.1:1"}, Namespace: "fleet-default", OfflineAfter: 30 * time.Minute},
			wrong: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			got := managementOf(t.Context(), test.value, &diags)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("management cluster (-want +got):\n%s", diff)
			}
			if diags.HasError() != test.wrong {
				t.Errorf("errors: %v", diags)
			}
		})
	}
}
