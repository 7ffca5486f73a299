package provider_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/providertest"
)

const (
	isError   = "error: Nothing is selected"
	isWarning = "warning: Nothing is set"
)

// misspelt states what happens if an object contains one misspelt attribute and nothing else. The first
// row that matches the end of a path counts.
//
//nolint:gochecknoglobals // a table that never changes
var misspelt = []struct{ object, outcome, because string }{
	{object: `(targets|override_targets|partitions|target_customizations|applies_to\.clusters)\[\*\]`, outcome: isError},
	{object: `(selector|cluster_selector|cluster_group_selector|bundle_selector)`, outcome: isError},
	{object: `depends_on_bundles\[\*\]`, outcome: isError},
	{object: `provider\.windows\[\*\]`, outcome: "error: Missing attribute, " + isError},
	{object: `applies_to`, outcome: isError},
	{object: `(semver|fleet_bundle\.chart)`, outcome: isError},

	{object: `provider\.engine`, outcome: "error: Invalid connection of the management cluster"},
	{object: `provider\.clusters\[\*\]`, outcome: "ignored", because: "fleet_render and an engine need no connection; where the provider connects, it is an error"},
	{object: `fleet_render\.clusters\[\*\]`, outcome: "ignored", because: "a cluster without facts has at least its name"},
	{object: `provider\.git\[\*\]`, outcome: "ignored", because: "an entry without credentials allows its server with private_addresses = false"},
	{object: `provider\.registries\[\*\]`, outcome: "ignored", because: "an entry without credentials allows its server with private_addresses = false"},
	{object: `(alphabetical|numerical)`, outcome: "ignored", because: "an empty object takes the largest tag"},

	{object: `match_expressions\[\*\]`, outcome: "error: Missing attribute"},
	{object: `policies\[\*\]`, outcome: "error: Missing attribute"},
	{object: `charts\[\*\]`, outcome: "error: Missing attribute"},
	{object: `weekly`, outcome: "error: Missing attribute"},
	{object: `cluster_groups\[\*\]`, outcome: "error: Missing attribute"},
	{object: `bundle_paths\[\*\]`, outcome: "error: Missing attribute"},
	{object: `(exec|github_app|config_map_key_ref|secret_key_ref|fleet_bundle\.git)`, outcome: "error: Missing Configuration for Required Attribute"},

	{object: `(helm|kustomize|yaml|diff|ignore|correct_drift|rollout_strategy|tls|sops|service_accounts|policy)`, outcome: isWarning},
	{object: `(values_from|compare_patches|operations)\[\*\]`, outcome: isWarning},
}

// Terraform drops attributes that it does not know. So an object with one misspelt attribute is an
// empty object for the provider. Each nested attribute of each schema has a row in the table.
//
//nolint:tparallel // They share one provider, which some of them configure.
func TestMisspeltAttributes(t *testing.T) {
	t.Parallel()
	c := providertest.New(t)
	used := map[string]bool{}
	for name, block := range configurable(c) {
		for _, at := range nestedPaths(name, block) {
			row := slices.IndexFunc(misspelt, func(row struct{ object, outcome, because string }) bool {
				return regexp.MustCompile(`(^|\.)` + row.object + "$").MatchString(at)
			})
			if row < 0 {
				t.Errorf("%s has no row in the table", at)
				continue
			}
			used[misspelt[row].object] = true
			t.Run(at, func(t *testing.T) {
				config := emptyAt(block.ValueType(), strings.Split(at, ".")[1:])
				if diff := cmp.Diff(misspelt[row].outcome, outcome(t, c, name, config, strings.TrimPrefix(at, name+"."))); diff != "" {
					t.Errorf("(-the table +the provider):\n%s", diff)
				}
			})
		}
	}
	for _, row := range misspelt {
		if !used[row.object] {
			t.Errorf("no attribute is at %s", row.object)
		}
		if row.outcome == "ignored" && row.because == "" {
			t.Errorf("%s is ignored without a reason", row.object)
		}
	}
}

// configurable returns the schemas of everything that is configured, by name.
func configurable(c *providertest.Client) map[string]*tfprotov6.SchemaBlock {
	blocks := map[string]*tfprotov6.SchemaBlock{"provider": c.Schemas.Provider.Block}
	for _, schemas := range []map[string]*tfprotov6.Schema{c.Schemas.ResourceSchemas, c.Schemas.DataSourceSchemas} {
		for name, schema := range schemas {
			if _, both := blocks[name]; both {
				name += " (data)"
			}
			blocks[name] = schema.Block
		}
	}
	return blocks
}

// nestedPaths returns the paths of all objects that can be configured.
func nestedPaths(name string, block *tfprotov6.SchemaBlock) []string {
	var paths []string
	var walk func(prefix string, attributes []*tfprotov6.SchemaAttribute)
	walk = func(prefix string, attributes []*tfprotov6.SchemaAttribute) {
		for _, attribute := range attributes {
			if attribute.NestedType == nil || !attribute.Optional && !attribute.Required {
				continue
			}
			at := prefix + "." + attribute.Name
			if attribute.NestedType.Nesting != tfprotov6.SchemaObjectNestingModeSingle {
				at += "[*]"
			}
			paths = append(paths, at)
			walk(at, attribute.NestedType.Attributes)
		}
	}
	walk(name, block.Attributes)
	return paths
}

// emptyAt returns a configuration in which only the object at a path is set, and is empty.
func emptyAt(of tftypes.Type, path []string) tftypes.Value {
	object, ok := of.(tftypes.Object)
	if !ok {
		panic(fmt.Sprintf("%s is no object", of))
	}
	values := map[string]tftypes.Value{}
	for name, kind := range object.AttributeTypes {
		values[name] = tftypes.NewValue(kind, nil)
	}
	if _, isProvider := values["owner"]; isProvider { // Without it, the provider would not be configured.
		values["owner"] = tftypes.NewValue(tftypes.String, "x")
	}
	if len(path) > 0 {
		name := strings.TrimSuffix(path[0], "[*]")
		switch kind := object.AttributeTypes[name].(type) {
		case tftypes.List:
			values[name] = tftypes.NewValue(kind, []tftypes.Value{emptyAt(kind.ElementType, path[1:])})
		case tftypes.Map:
			values[name] = tftypes.NewValue(kind, map[string]tftypes.Value{keyOf(name): emptyAt(kind.ElementType, path[1:])})
		default:
			values[name] = emptyAt(kind, path[1:])
		}
	}
	return tftypes.NewValue(of, values)
}

// keyOf returns a valid key for a map of objects.
func keyOf(attribute string) string {
	if attribute == "git" {
		return "https://x.invalid"
	}
	return "x"
}

// outcome validates a configuration, and returns what is said about the object at a path.
func outcome(t *testing.T, c *providertest.Client, name string, config tftypes.Value, at string) string {
	t.Helper()
	said := map[string]bool{}
	for _, found := range validate(t, c, name, config) {
		if found.Attribute == nil {
			continue
		}
		of := providertest.GeneralPath(found.Attribute)
		isOfChild := strings.HasPrefix(of, at+".") && strings.HasPrefix(found.Summary, "Missing ")
		if of == at || isOfChild {
			said[strings.ToLower(found.Severity.String())+": "+found.Summary] = true
		}
	}
	if len(said) == 0 {
		return "ignored"
	}
	return strings.Join(slices.Sorted(maps.Keys(said)), ", ")
}

func validate(t *testing.T, c *providertest.Client, name string, config tftypes.Value) []*tfprotov6.Diagnostic {
	t.Helper()
	ofData, isData := strings.CutSuffix(name, " (data)")
	_, isResource := c.Schemas.ResourceSchemas[name]
	switch {
	case name == "provider":
		resp, err := c.Server.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: providertest.Packed(t, config)})
		if err != nil {
			t.Fatal(err)
		}
		if len(resp.Diagnostics) > 0 {
			return resp.Diagnostics
		}
		configured, err := c.Server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.4", Config: providertest.Packed(t, config)})
		if err != nil {
			t.Fatal(err)
		}
		return configured.Diagnostics
	case isResource && !isData:
		resp, err := c.Server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: name, Config: providertest.Packed(t, config)})
		if err != nil {
			t.Fatal(err)
		}
		return resp.Diagnostics
	}
	resp, err := c.Server.ValidateDataResourceConfig(t.Context(), &tfprotov6.ValidateDataResourceConfigRequest{TypeName: ofData, Config: providertest.Packed(t, config)})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Diagnostics
}
