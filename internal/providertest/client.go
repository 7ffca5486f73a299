// Package providertest calls the provider by the plugin protocol, as the CLI does.
package providertest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/provider"
)

// A Client calls a provider of its own, which ends with the test.
type Client struct {
	Server  tfprotov6.ProviderServer
	Schemas *tfprotov6.GetProviderSchemaResponse
}

// New starts a provider, which is not configured.
func New(tb testing.TB) *Client {
	tb.Helper()
	cleanup := &provider.Cleanup{}
	tb.Cleanup(func() {
		if err := cleanup.Run(); err != nil {
			tb.Error(err)
		}
	})
	return &Client{Server: provider.Unmasked("test", cleanup), Schemas: Schemas()}
}

// Schemas returns the schemas of the provider. They are requested once: the CLI keeps them, too.
func Schemas() *tfprotov6.GetProviderSchemaResponse { return schemas() }

//nolint:gochecknoglobals // made at most once and never changed
var schemas = sync.OnceValue(func() *tfprotov6.GetProviderSchemaResponse {
	found, err := provider.Unmasked("test", &provider.Cleanup{}).GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{}) //nolint:forbidigo // The schemas outlive the test that asks first.
	if err != nil {
		panic(err)
	}
	return found
})

// expectNoError ends the test if a call of the protocol failed.
func expectNoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// errorsOf returns the errors among diagnostics as text.
func errorsOf(diagnostics []*tfprotov6.Diagnostic) []string {
	var texts []string
	for _, found := range diagnostics {
		if found.Severity == tfprotov6.DiagnosticSeverityError {
			texts = append(texts, fmt.Sprintf("%s: %s (%s)", found.Summary, found.Detail, found.Attribute))
		}
	}
	return texts
}

// Packed encodes a value for a request.
func Packed(tb testing.TB, value tftypes.Value) *tfprotov6.DynamicValue {
	tb.Helper()
	dynamic, err := tfprotov6.NewDynamicValue(value.Type(), value)
	if err != nil {
		tb.Fatal(err)
	}
	return &dynamic
}

func unpacked(tb testing.TB, dynamic *tfprotov6.DynamicValue, of tftypes.Type) tftypes.Value {
	tb.Helper()
	if dynamic == nil {
		return tftypes.NewValue(of, nil)
	}
	value, err := dynamic.Unmarshal(of)
	if err != nil {
		tb.Fatal(err)
	}
	return value
}

// Configure validates the configuration of the provider and configures it. It returns the errors.
func (c *Client) Configure(tb testing.TB, config tftypes.Value) []string {
	tb.Helper()
	validated, err := c.Server.ValidateProviderConfig(tb.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: Packed(tb, config)})
	expectNoError(tb, err)
	if found := errorsOf(validated.Diagnostics); len(found) > 0 {
		return found
	}
	resp, err := c.Server.ConfigureProvider(tb.Context(), &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.4", Config: Packed(tb, config)})
	expectNoError(tb, err)
	return errorsOf(resp.Diagnostics)
}

// A Resource is a resource in a state. Its value is null if there is none.
type Resource struct {
	Value   tftypes.Value
	Private []byte
}

// NoResource returns the state of a resource that is not in a state.
func NoResource(kind string) Resource {
	return Resource{Value: tftypes.NewValue(Schemas().ResourceSchemas[kind].ValueType(), nil)}
}

// A Plan is the response to a plan.
type Plan struct {
	Value   tftypes.Value
	Private []byte
	// Errors and Warnings are the diagnostics of the plan.
	Errors, Warnings []string
}

// Refresh reads a resource again. It returns the errors, too.
func (c *Client) Refresh(tb testing.TB, kind string, prior Resource) (Resource, []string) {
	tb.Helper()
	if prior.Value.IsNull() {
		return prior, nil
	}
	resp, err := c.Server.ReadResource(tb.Context(), &tfprotov6.ReadResourceRequest{TypeName: kind, CurrentState: Packed(tb, prior.Value), Private: prior.Private})
	expectNoError(tb, err)
	return Resource{Value: unpacked(tb, resp.NewState, prior.Value.Type()), Private: resp.Private}, errorsOf(resp.Diagnostics)
}

// Plan validates and plans a resource.
func (c *Client) Plan(tb testing.TB, kind string, config tftypes.Value, prior Resource) Plan {
	tb.Helper()
	validated, err := c.Server.ValidateResourceConfig(tb.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: kind, Config: Packed(tb, config)})
	expectNoError(tb, err)
	if found := errorsOf(validated.Diagnostics); len(found) > 0 {
		return Plan{Errors: found}
	}
	resp, err := c.Server.PlanResourceChange(tb.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: kind, Config: Packed(tb, config), PriorState: Packed(tb, prior.Value), PriorPrivate: prior.Private,
		ProposedNewState: Packed(tb, c.Proposed(tb, kind, config, prior.Value)),
	})
	expectNoError(tb, err)
	answer := Plan{Errors: errorsOf(resp.Diagnostics), Private: resp.PlannedPrivate}
	for _, found := range resp.Diagnostics {
		if found.Severity == tfprotov6.DiagnosticSeverityWarning {
			answer.Warnings = append(answer.Warnings, found.Summary+": "+found.Detail)
		}
	}
	answer.Value = unpacked(tb, resp.PlannedState, config.Type())
	return answer
}

// Apply applies a plan.
func (c *Client) Apply(tb testing.TB, kind string, config tftypes.Value, prior Resource, to Plan) Resource {
	tb.Helper()
	resp, err := c.Server.ApplyResourceChange(tb.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: kind, Config: Packed(tb, config), PriorState: Packed(tb, prior.Value), PlannedState: Packed(tb, to.Value), PlannedPrivate: to.Private,
	})
	expectNoError(tb, err)
	for _, found := range errorsOf(resp.Diagnostics) {
		tb.Fatal(found)
	}
	return Resource{Value: unpacked(tb, resp.NewState, config.Type()), Private: resp.Private}
}

// Proposed returns the value that Terraform makes of configuration and state before it requests a
// plan: a computed attribute that is not configured is as before, or unknown.
func (c *Client) Proposed(tb testing.TB, kind string, config, prior tftypes.Value) tftypes.Value {
	tb.Helper()
	given := Attributes(tb, config)
	before := map[string]tftypes.Value{}
	if !prior.IsNull() {
		before = Attributes(tb, prior)
	}
	for _, attribute := range c.Schemas.ResourceSchemas[kind].Block.Attributes {
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
