package provider_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/providertest"
)

// camelCase finds names of keys of a fleet.yaml.
var camelCase = regexp.MustCompile(`\b[a-z]+(?:[A-Z][a-z]+)+\b`)

// given sets attributes of an object that is otherwise null.
type given map[string]any

func (g given) value(of tftypes.Type) tftypes.Value {
	object := of.(tftypes.Object) //nolint:forcetypeassert // a mistake of a row
	values := map[string]tftypes.Value{}
	for name, kind := range object.AttributeTypes {
		values[name] = tftypes.NewValue(kind, nil)
		if set, ok := g[name]; ok {
			values[name] = valueOf(kind, set)
		}
	}
	return tftypes.NewValue(of, values)
}

func valueOf(of tftypes.Type, set any) tftypes.Value {
	switch of := of.(type) {
	case tftypes.Object:
		return set.(given).value(of) //nolint:forcetypeassert // a mistake of a row
	case tftypes.List:
		var items []tftypes.Value
		for _, item := range set.([]any) { //nolint:forcetypeassert // a mistake of a row
			items = append(items, valueOf(of.ElementType, item))
		}
		return tftypes.NewValue(of, items)
	case tftypes.Map:
		items := map[string]tftypes.Value{}
		for key, item := range set.(map[string]any) { //nolint:forcetypeassert // a mistake of a row
			items[key] = valueOf(of.ElementType, item)
		}
		return tftypes.NewValue(of, items)
	}
	return tftypes.NewValue(of, set)
}

// Errors and warnings about options in HCL name attributes, not the keys of a fleet.yaml, and are at the
// attribute that is wrong.
func TestMessagesAboutHCLSpeakHCL(t *testing.T) {
	t.Parallel()
	selector := func(key, value string) given { return given{"match_labels": map[string]any{key: value}} }
	tests := map[string]struct {
		options given
		at      string
		says    string
	}{
		"mode of customizations":    {options: given{"target_customization_mode": "x"}, at: `target_customization_mode`, says: `target_customization_mode`},
		"selector of an override":   {options: given{"override_targets": []any{given{"cluster_selector": selector("a", "b c")}}}, at: `override_targets[*].cluster_selector`, says: `cluster_selector: label "a"`},
		"selector of a group":       {options: given{"override_targets": []any{given{"cluster_group_selector": selector("a b", "c")}}}, at: `override_targets[*].cluster_group_selector`, says: `cluster_group_selector: label "a b"`},
		"selector of customization": {options: given{"target_customizations": []any{given{"cluster_selector": selector("a", "b c")}}}, at: `target_customizations[*].cluster_selector`, says: `cluster_selector: label "a"`},
		"operator of an expression": {
			options: given{"override_targets": []any{given{"cluster_selector": given{"match_expressions": []any{given{"key": "a", "operator": "Like"}}}}}},
			at:      `override_targets[*].cluster_selector`, says: `operator "Like"`,
		},
		"selector of a partition": {
			options: given{"rollout_strategy": given{"partitions": []any{given{"name": "p", "cluster_selector": selector("a", "b c")}}}},
			at:      `rollout_strategy.partitions[*].cluster_selector`, says: `cluster_selector`,
		},
		"maximum of clusters":            {options: given{"rollout_strategy": given{"max_unavailable": "x"}}, at: `rollout_strategy.max_unavailable`, says: `must be a number or a percentage`},
		"state of a dependency":          {options: given{"depends_on_bundles": []any{given{"name": "x", "accepted_states": []any{"Fine"}}}}, at: `depends_on_bundles[*].accepted_states[*]`, says: `accepted_states: "Fine"`},
		"selector of a dependency":       {options: given{"depends_on_bundles": []any{given{"selector": selector("a", "b c")}}}, at: `depends_on_bundles[*].selector`, says: `elector: label "a"`},
		"values file that is not there":  {options: given{"helm": given{"values_files": []any{"no.yaml"}}}, says: "no.yaml"},
		"encrypted template value":       {options: given{"helm": given{"template_values": map[string]any{"a": "ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]"}}}, says: "helm.template_values.a"},
		"partitions of both kinds":       {options: given{"rollout_strategy": given{"auto_partition_size": "10%", "partitions": []any{given{"name": "p", "cluster_selector": selector("a", "b")}}}}, says: "auto_partition_size and auto_partition_threshold"},
		"history of failed revisions":    {options: given{"correct_drift": given{"keep_fail_history": true}}, says: "keep_fail_history has no effect"},
		"dependencies per customization": {options: given{"target_customizations": []any{given{"cluster_selector": selector("a", "b"), "helm": given{"disable_dependency_update": true}}}}, says: "disable_dependency_update"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := providertest.New(t)
			provider := given{"owner": "x"}.value(c.Schemas.Provider.Block.ValueType())
			if wrong := c.Configure(t, provider); len(wrong) > 0 {
				t.Fatal(wrong)
			}
			options := given{"name": "web", "files": map[string]any{"m.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"}}
			maps.Copy(options, test.options)
			found := diagnostics(t, c, "fleet_bundle", options.value(c.Schemas.ResourceSchemas["fleet_bundle"].Block.ValueType()))
			said, at := "", ""
			for _, diagnostic := range found {
				said += diagnostic.Summary + "\n" + diagnostic.Detail + "\n"
				if diagnostic.Attribute != nil {
					at = providertest.GeneralPath(diagnostic.Attribute)
				}
			}
			if !strings.Contains(said, test.says) {
				t.Errorf("no %q in:\n%s", test.says, said)
			}
			for _, word := range camelCase.FindAllString(said, -1) {
				t.Errorf("%s is a key of a fleet.yaml:\n%s", word, said)
			}
			if diff := cmp.Diff(test.at, at); test.at != "" && diff != "" {
				t.Errorf("attribute (-want +got):\n%s", diff)
			}
		})
	}
}

// diagnostics validates and plans the create of a resource.
func diagnostics(t *testing.T, c *providertest.Client, resource string, config tftypes.Value) []*tfprotov6.Diagnostic {
	t.Helper()
	validated, err := c.Server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: resource, Config: providertest.Packed(t, config)})
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range validated.Diagnostics {
		if found.Severity == tfprotov6.DiagnosticSeverityError {
			return validated.Diagnostics
		}
	}
	prior := providertest.NoResource(resource)
	planned, err := c.Server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: resource, Config: providertest.Packed(t, config), PriorState: providertest.Packed(t, prior.Value), ProposedNewState: providertest.Packed(t, c.Proposed(t, resource, config, prior.Value)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(validated.Diagnostics, planned.Diagnostics...)
}
