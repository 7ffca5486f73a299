package provider

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// terraform calls its own provider by the plugin protocol, as the CLI does.
type terraform struct {
	server  tfprotov6.ProviderServer
	schemas *tfprotov6.GetProviderSchemaResponse
}

func newTerraform(t *testing.T) *terraform {
	t.Helper()
	cleanup := &Cleanup{}
	t.Cleanup(func() {
		if err := cleanup.Run(); err != nil {
			t.Error(err)
		}
	})
	server, err := providerserver.NewProtocol6WithError(New("test", cleanup)())()
	if err != nil {
		t.Fatal(err)
	}
	return &terraform{server: server, schemas: schemas()}
}

// schemas are requested once: the CLI keeps them, too.
//
//nolint:gochecknoglobals // made at most once and never changed
var schemas = sync.OnceValue(func() *tfprotov6.GetProviderSchemaResponse {
	server, err := providerserver.NewProtocol6WithError(New("test", &Cleanup{})())()
	if err != nil {
		panic(err)
	}
	found, err := server.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		panic(err)
	}
	return found
})

// complaints are errors as text.
func complaints(t *testing.T, diagnostics []*tfprotov6.Diagnostic, err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, found := range diagnostics {
		if found.Severity == tfprotov6.DiagnosticSeverityError {
			texts = append(texts, fmt.Sprintf("%s: %s (%s)", found.Summary, found.Detail, found.Attribute))
		}
	}
	return texts
}

func packed(t *testing.T, value tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	dynamic, err := tfprotov6.NewDynamicValue(value.Type(), value)
	if err != nil {
		t.Fatal(err)
	}
	return &dynamic
}

func unpacked(t *testing.T, dynamic *tfprotov6.DynamicValue, of tftypes.Type) tftypes.Value {
	t.Helper()
	if dynamic == nil {
		return tftypes.NewValue(of, nil)
	}
	value, err := dynamic.Unmarshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// configure validates the configuration of the provider and configures it.
func (c *terraform) configure(t *testing.T, config tftypes.Value) []string {
	t.Helper()
	validated, err := c.server.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: packed(t, config)})
	if wrong := complaints(t, validated.Diagnostics, err); len(wrong) > 0 {
		return wrong
	}
	resp, err := c.server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.4", Config: packed(t, config)})
	return complaints(t, resp.Diagnostics, err)
}

// existing is a resource in a state; its value is null for none.
type existing struct {
	value   tftypes.Value
	private []byte
}

// answered is the response to a plan.
type answered struct {
	value   tftypes.Value
	private []byte
	// wrong and warnings are the diagnostics of the plan.
	wrong, warnings []string
}

func (c *terraform) none(resource string) existing {
	return existing{value: tftypes.NewValue(c.schemas.ResourceSchemas[resource].ValueType(), nil)}
}

// refresh reads a resource again.
func (c *terraform) refresh(t *testing.T, resource string, prior existing) (existing, []string) {
	t.Helper()
	if prior.value.IsNull() {
		return prior, nil
	}
	resp, err := c.server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: resource, CurrentState: packed(t, prior.value), Private: prior.private})
	return existing{value: unpacked(t, resp.NewState, prior.value.Type()), private: resp.Private}, complaints(t, resp.Diagnostics, err)
}

// plan validates and plans a resource.
func (c *terraform) plan(t *testing.T, resource string, config tftypes.Value, prior existing) answered {
	t.Helper()
	validated, err := c.server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: resource, Config: packed(t, config)})
	if wrong := complaints(t, validated.Diagnostics, err); len(wrong) > 0 {
		return answered{wrong: wrong}
	}
	resp, err := c.server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: resource, Config: packed(t, config), PriorState: packed(t, prior.value), PriorPrivate: prior.private,
		ProposedNewState: packed(t, c.proposed(t, resource, config, prior.value)),
	})
	answer := answered{wrong: complaints(t, resp.Diagnostics, err), private: resp.PlannedPrivate}
	for _, found := range resp.Diagnostics {
		if found.Severity == tfprotov6.DiagnosticSeverityWarning {
			answer.warnings = append(answer.warnings, found.Summary+": "+found.Detail)
		}
	}
	answer.value = unpacked(t, resp.PlannedState, config.Type())
	return answer
}

// apply applies a plan.
func (c *terraform) apply(t *testing.T, resource string, config tftypes.Value, prior existing, to answered) existing {
	t.Helper()
	resp, err := c.server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: resource, Config: packed(t, config), PriorState: packed(t, prior.value), PlannedState: packed(t, to.value), PlannedPrivate: to.private,
	})
	for _, wrong := range complaints(t, resp.Diagnostics, err) {
		t.Fatal(wrong)
	}
	return existing{value: unpacked(t, resp.NewState, config.Type()), private: resp.Private}
}

// proposed is the value that Terraform makes of configuration and state before it requests a plan:
// a computed attribute that is not configured is as before, or unknown.
func (c *terraform) proposed(t *testing.T, resource string, config, prior tftypes.Value) tftypes.Value {
	t.Helper()
	given := attributesOf(t, config)
	before := map[string]tftypes.Value{}
	if !prior.IsNull() {
		before = attributesOf(t, prior)
	}
	for _, attribute := range c.schemas.ResourceSchemas[resource].Block.Attributes {
		if !attribute.Computed || !given[attribute.Name].IsNull() {
			continue
		}
		given[attribute.Name] = tftypes.NewValue(attribute.ValueType(), tftypes.UnknownValue)
		if known, ok := before[attribute.Name]; ok {
			given[attribute.Name] = known
		}
	}
	return tftypes.NewValue(config.Type(), given)
}

func attributesOf(t *testing.T, object tftypes.Value) map[string]tftypes.Value {
	t.Helper()
	var attributes map[string]tftypes.Value
	if err := object.As(&attributes); err != nil {
		t.Fatal(err)
	}
	return maps.Clone(attributes) // The original map belongs to the object.
}

// typedOf converts plain values to a type. Attributes that an object lacks are null.
func typedOf(t *testing.T, of tftypes.Type, plain any) tftypes.Value {
	t.Helper()
	if plain == nil {
		return tftypes.NewValue(of, nil)
	}
	switch of := of.(type) {
	case tftypes.Object:
		fields, ok := plain.(map[string]any)
		if !ok {
			t.Fatalf("%v is no object", plain)
		}
		values := map[string]tftypes.Value{}
		for name, field := range of.AttributeTypes {
			values[name] = typedOf(t, field, fields[name])
		}
		for name := range fields {
			if _, known := of.AttributeTypes[name]; !known {
				t.Fatalf("no attribute is called %s", name)
			}
		}
		return tftypes.NewValue(of, values)
	case tftypes.Map:
		values := map[string]tftypes.Value{}
		for key, element := range plain.(map[string]any) { //nolint:forcetypeassert // a panic fails the test
			values[key] = typedOf(t, of.ElementType, element)
		}
		return tftypes.NewValue(of, values)
	case tftypes.Set:
		return tftypes.NewValue(of, membersOf(t, of.ElementType, plain))
	case tftypes.List:
		return tftypes.NewValue(of, membersOf(t, of.ElementType, plain))
	}
	if value, ok := plain.(tftypes.Value); ok {
		return value
	}
	if number, ok := plain.(int); ok {
		plain = big.NewFloat(float64(number))
	}
	return tftypes.NewValue(of, plain)
}

func membersOf(t *testing.T, of tftypes.Type, plain any) []tftypes.Value {
	t.Helper()
	var values []tftypes.Value
	for _, element := range plain.([]any) { //nolint:forcetypeassert // a panic fails the test
		values = append(values, typedOf(t, of, element))
	}
	return values
}

// written returns a path as users write it: clusters["a"].exec.args[0].
func written(path *tftypes.AttributePath) string {
	var text strings.Builder
	for _, step := range path.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			text.WriteString("." + string(step))
		case tftypes.ElementKeyString:
			fmt.Fprintf(&text, "[%q]", string(step))
		case tftypes.ElementKeyInt:
			fmt.Fprintf(&text, "[%d]", int64(step))
		case tftypes.ElementKeyValue:
			text.WriteString("[*]")
		}
	}
	return strings.TrimPrefix(text.String(), ".")
}

// schemaPaths returns all attributes that can be configured, at any depth.
func schemaPaths(block *tfprotov6.SchemaBlock) []string {
	var paths []string
	for _, attribute := range block.Attributes {
		paths = append(paths, attributePaths("", attribute)...)
	}
	for _, nested := range block.BlockTypes {
		for _, attribute := range nested.Block.Attributes {
			paths = append(paths, attributePaths(nested.TypeName+".", attribute)...)
		}
	}
	return paths
}

func attributePaths(prefix string, attribute *tfprotov6.SchemaAttribute) []string {
	if !attribute.Optional && !attribute.Required {
		return nil
	}
	path := prefix + attribute.Name
	if attribute.NestedType == nil {
		return append([]string{path}, typePaths(path, attribute.Type)...)
	}
	paths := []string{path}
	if attribute.NestedType.Nesting != tfprotov6.SchemaObjectNestingModeSingle {
		path += "[*]"
		paths = append(paths, path)
	}
	for _, below := range attribute.NestedType.Attributes {
		paths = append(paths, attributePaths(path+".", below)...)
	}
	return paths
}

func typePaths(path string, of tftypes.Type) []string {
	switch of := of.(type) {
	case tftypes.Set:
		return append([]string{path + "[*]"}, typePaths(path+"[*]", of.ElementType)...)
	case tftypes.List:
		return append([]string{path + "[*]"}, typePaths(path+"[*]", of.ElementType)...)
	case tftypes.Map:
		return append([]string{path + "[*]"}, typePaths(path+"[*]", of.ElementType)...)
	case tftypes.Object:
		var paths []string
		for name, below := range of.AttributeTypes {
			paths = append(append(paths, path+"."+name), typePaths(path+"."+name, below)...)
		}
		return paths
	}
	return nil
}
