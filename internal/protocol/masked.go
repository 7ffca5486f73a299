// Package protocol masks the responses of a provider's server. No diagnostic and no error leaves
// the process with a secret, or with characters that a terminal would interpret.
package protocol

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// Masked returns a server with the responses of the given one. It masks every diagnostic and every
// error before Terraform or a log receives it.
func Masked(of tfprotov6.ProviderServer, masker *mask.Masker) tfprotov6.ProviderServer {
	by := masking{of: of, masker: masker}
	return server{masking: by, resources: resources{by}}
}

// server masks diagnostics. It implements no optional interface of terraform-plugin-go, such as
// that for list resources. To support such an interface, its methods must be added here first.
type server struct {
	masking
	resources
}

// masking masks what the methods of a server return.
type masking struct {
	of     tfprotov6.ProviderServer
	masker *mask.Masker
}

// masked calls a method and masks its diagnostics and its error. A failed fetch is not repeated
// within one call, only in the next one.
func masked[Q, R any](
	ctx context.Context, s masking, call func(context.Context, *Q) (*R, error), request *Q, diagnosticsOf func(*R) []*tfprotov6.Diagnostic,
) (*R, error) {
	response, err := call(fetch.RememberFailures(ctx), request)
	if response == nil {
		return nil, s.maskError(err)
	}
	s.hideSource(ctx, request, diagnosticsOf(response))
	for _, diagnostic := range diagnosticsOf(response) {
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
func (m masking) maskDiagnostic(diagnostic *tfprotov6.Diagnostic) {
	diagnostic.Summary, diagnostic.Detail = m.masker.Shown(diagnostic.Summary), m.masker.Shown(diagnostic.Detail)
	if diagnostic.Severity == tfprotov6.DiagnosticSeverityError {
		diagnostic.Summary = mask.WithoutMiddle(diagnostic.Summary, maxSummary)
		diagnostic.Detail = mask.WithoutMiddle(diagnostic.Detail, maxError-maxSummary)
	}
}

func (m masking) maskError(err error) error {
	if err == nil {
		return nil
	}
	return mask.WithText(err, mask.WithoutMiddle(m.masker.Shown(err.Error()), maxError))
}

func (s server) GetMetadata(ctx context.Context, request *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	return masked(ctx, s.masking, s.of.GetMetadata, request, func(r *tfprotov6.GetMetadataResponse) []*tfprotov6.Diagnostic { return r.Diagnostics })
}

func (s server) GetProviderSchema(ctx context.Context, request *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return masked(ctx, s.masking, s.of.GetProviderSchema, request, func(r *tfprotov6.GetProviderSchemaResponse) []*tfprotov6.Diagnostic { return r.Diagnostics })
}

func (s server) GetResourceIdentitySchemas(ctx context.Context, request *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return masked(ctx, s.masking, s.of.GetResourceIdentitySchemas, request, func(r *tfprotov6.GetResourceIdentitySchemasResponse) []*tfprotov6.Diagnostic { return r.Diagnostics })
}

func (s server) ValidateProviderConfig(ctx context.Context, request *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return masked(ctx, s.masking, s.of.ValidateProviderConfig, request, func(r *tfprotov6.ValidateProviderConfigResponse) []*tfprotov6.Diagnostic { return r.Diagnostics })
}

func (s server) ConfigureProvider(ctx context.Context, request *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return masked(ctx, s.masking, s.of.ConfigureProvider, request, func(r *tfprotov6.ConfigureProviderResponse) []*tfprotov6.Diagnostic { return r.Diagnostics })
}

func (s server) StopProvider(ctx context.Context, request *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	response, err := s.of.StopProvider(ctx, request)
	return response, s.maskError(err)
}

func (s server) ValidateDataResourceConfig(ctx context.Context, request *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return masked(ctx, s.masking, s.of.ValidateDataResourceConfig, request, func(r *tfprotov6.ValidateDataResourceConfigResponse) []*tfprotov6.Diagnostic { return r.Diagnostics })
}

func (s server) ReadDataSource(ctx context.Context, request *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	return masked(ctx, s.masking, s.of.ReadDataSource, request, func(r *tfprotov6.ReadDataSourceResponse) []*tfprotov6.Diagnostic { return r.Diagnostics })
}

func (s server) GetFunctions(ctx context.Context, request *tfprotov6.GetFunctionsRequest) (*tfprotov6.GetFunctionsResponse, error) {
	return masked(ctx, s.masking, s.of.GetFunctions, request, func(r *tfprotov6.GetFunctionsResponse) []*tfprotov6.Diagnostic { return r.Diagnostics })
}

func (s server) ValidateEphemeralResourceConfig(ctx context.Context, request *tfprotov6.ValidateEphemeralResourceConfigRequest) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	return masked(ctx, s.masking, s.of.ValidateEphemeralResourceConfig, request, func(r *tfprotov6.ValidateEphemeralResourceConfigResponse) []*tfprotov6.Diagnostic {
		return r.Diagnostics
	})
}

func (s server) OpenEphemeralResource(ctx context.Context, request *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	return masked(ctx, s.masking, s.of.OpenEphemeralResource, request, func(r *tfprotov6.OpenEphemeralResourceResponse) []*tfprotov6.Diagnostic { return r.Diagnostics })
}

func (s server) RenewEphemeralResource(ctx context.Context, request *tfprotov6.RenewEphemeralResourceRequest) (*tfprotov6.RenewEphemeralResourceResponse, error) {
	return masked(ctx, s.masking, s.of.RenewEphemeralResource, request, func(r *tfprotov6.RenewEphemeralResourceResponse) []*tfprotov6.Diagnostic { return r.Diagnostics })
}

func (s server) CloseEphemeralResource(ctx context.Context, request *tfprotov6.CloseEphemeralResourceRequest) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	return masked(ctx, s.masking, s.of.CloseEphemeralResource, request, func(r *tfprotov6.CloseEphemeralResourceResponse) []*tfprotov6.Diagnostic { return r.Diagnostics })
}

func (s server) CallFunction(ctx context.Context, request *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	response, err := s.of.CallFunction(ctx, request)
	if response != nil && response.Error != nil {
		response.Error.Text = mask.WithoutMiddle(s.masker.Shown(response.Error.Text), maxError)
	}
	return response, s.maskError(err)
}
