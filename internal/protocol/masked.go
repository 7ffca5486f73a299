// Package protocol adds to a provider's server what terraform-plugin-framework lacks. No diagnostic
// and no error leaves the process with a secret, or with characters that a terminal would interpret.
// Large maps do not pass through the framework, and a plan can read what an earlier one has stored.
package protocol

import (
	"context"
	"reflect"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// Masked returns a server with the responses of the given one. It masks every diagnostic and every
// error before Terraform or a log receives it.
func Masked(of tfprotov6.ProviderServer, masker *mask.Masker) tfprotov6.ProviderServer {
	return server{of: of, masker: masker}
}

// server masks diagnostics. It implements no optional interface of terraform-plugin-go, such as
// that for list resources. To support such an interface, its methods must be added here first.
type server struct {
	of     tfprotov6.ProviderServer
	masker *mask.Masker
}

// masked calls a method and masks its diagnostics and its error. A failed fetch is not repeated
// within one call, only in the next one.
func masked[Q, R any](ctx context.Context, s server, call func(context.Context, *Q) (*R, error), request *Q) (*R, error) {
	response, err := call(fetch.RememberFailures(ctx), request)
	if response == nil {
		return nil, s.maskError(err)
	}
	// Every response has this field. Another type would panic in every call, also of a test.
	diagnostics := reflect.ValueOf(response).Elem().FieldByName("Diagnostics").Interface().([]*tfprotov6.Diagnostic) //nolint:forcetypeassert // As above.
	s.hideSource(ctx, request, diagnostics)
	for _, diagnostic := range diagnostics {
		if diagnostic != nil {
			s.maskDiagnostic(diagnostic)
		}
	}
	return response, s.maskError(err)
}

// Limits of an error and of its summary. Warnings contain diffs, which have their own limits.
const (
	maxError   = 4 << 10
	maxSummary = 512
)

// maskDiagnostic masks a diagnostic and then shortens an error: half a secret would not be recognized.
func (s server) maskDiagnostic(diagnostic *tfprotov6.Diagnostic) {
	diagnostic.Summary, diagnostic.Detail = s.masker.Shown(diagnostic.Summary), s.masker.Shown(diagnostic.Detail)
	if diagnostic.Severity == tfprotov6.DiagnosticSeverityError {
		diagnostic.Summary = mask.WithoutMiddle(diagnostic.Summary, maxSummary)
		diagnostic.Detail = mask.WithoutMiddle(diagnostic.Detail, maxError-maxSummary)
	}
}

func (s server) maskError(err error) error {
	if err == nil {
		return nil
	}
	return mask.WithText(err, mask.WithoutMiddle(s.masker.Shown(err.Error()), maxError))
}

func (s server) GetMetadata(ctx context.Context, request *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	return masked(ctx, s, s.of.GetMetadata, request)
}

func (s server) GetProviderSchema(ctx context.Context, request *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return masked(ctx, s, s.of.GetProviderSchema, request)
}

func (s server) GetResourceIdentitySchemas(ctx context.Context, request *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return masked(ctx, s, s.of.GetResourceIdentitySchemas, request)
}

func (s server) ValidateProviderConfig(ctx context.Context, request *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return masked(ctx, s, s.of.ValidateProviderConfig, request)
}

func (s server) ConfigureProvider(ctx context.Context, request *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return masked(ctx, s, s.of.ConfigureProvider, request)
}

func (s server) StopProvider(ctx context.Context, request *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	response, err := s.of.StopProvider(ctx, request)
	return response, s.maskError(err)
}

func (s server) ValidateDataResourceConfig(ctx context.Context, request *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return masked(ctx, s, s.of.ValidateDataResourceConfig, request)
}

func (s server) ReadDataSource(ctx context.Context, request *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	return masked(ctx, s, s.of.ReadDataSource, request)
}

func (s server) GetFunctions(ctx context.Context, request *tfprotov6.GetFunctionsRequest) (*tfprotov6.GetFunctionsResponse, error) {
	return masked(ctx, s, s.of.GetFunctions, request)
}

func (s server) ValidateEphemeralResourceConfig(ctx context.Context, request *tfprotov6.ValidateEphemeralResourceConfigRequest) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	return masked(ctx, s, s.of.ValidateEphemeralResourceConfig, request)
}

func (s server) OpenEphemeralResource(ctx context.Context, request *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	return masked(ctx, s, s.of.OpenEphemeralResource, request)
}

func (s server) RenewEphemeralResource(ctx context.Context, request *tfprotov6.RenewEphemeralResourceRequest) (*tfprotov6.RenewEphemeralResourceResponse, error) {
	return masked(ctx, s, s.of.RenewEphemeralResource, request)
}

func (s server) CloseEphemeralResource(ctx context.Context, request *tfprotov6.CloseEphemeralResourceRequest) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	return masked(ctx, s, s.of.CloseEphemeralResource, request)
}

func (s server) CallFunction(ctx context.Context, request *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	response, err := s.of.CallFunction(ctx, request)
	if response != nil && response.Error != nil {
		response.Error.Text = mask.WithoutMiddle(s.masker.Shown(response.Error.Text), maxError)
	}
	return response, s.maskError(err)
}

func (s server) ValidateResourceConfig(ctx context.Context, request *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return masked(ctx, s, s.of.ValidateResourceConfig, request)
}

func (s server) UpgradeResourceState(ctx context.Context, request *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return masked(ctx, s, s.of.UpgradeResourceState, request)
}

func (s server) ReadResource(ctx context.Context, request *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return masked(ctx, s, s.of.ReadResource, request)
}

func (s server) PlanResourceChange(ctx context.Context, request *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	return masked(ctx, s, s.of.PlanResourceChange, request)
}

func (s server) ApplyResourceChange(ctx context.Context, request *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	ctx, err := withPlanned(ctx, request)
	if err != nil {
		return nil, err
	}
	return masked(ctx, s, s.of.ApplyResourceChange, request)
}

func (s server) ImportResourceState(ctx context.Context, request *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	return masked(ctx, s, s.of.ImportResourceState, request)
}

func (s server) MoveResourceState(ctx context.Context, request *tfprotov6.MoveResourceStateRequest) (*tfprotov6.MoveResourceStateResponse, error) {
	return masked(ctx, s, s.of.MoveResourceState, request)
}

func (s server) UpgradeResourceIdentity(ctx context.Context, request *tfprotov6.UpgradeResourceIdentityRequest) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	return masked(ctx, s, s.of.UpgradeResourceIdentity, request)
}

func (s server) GenerateResourceConfig(ctx context.Context, request *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	return masked(ctx, s, s.of.GenerateResourceConfig, request)
}
