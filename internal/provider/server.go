package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"k8s.io/klog/v2"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

// Server makes servers of the provider as the given version of it. Every diagnostic of a
// server passes through its masker, whoever made it, before Terraform or a log gets it. What
// a server leaves behind is undone by cleanup, which the caller runs in the end.
func Server(version string, cleanup *Cleanup) func() tfprotov6.ProviderServer {
	return func() tfprotov6.ProviderServer {
		made := newProvider(version, cleanup)
		return server{ProviderServer: providerserver.NewProtocol6(made)(), masker: made.masker}
	}
}

// server masks diagnostics. It has no interface of terraform-plugin-go that is optional, such
// as that for list resources: those need their methods here first.
type server struct {
	tfprotov6.ProviderServer

	masker *diff.Masker
}

// shown is a text of others as it may leave the provider.
func shown(masker *diff.Masker, text string) string { return diff.Printable(masker.Text(text)) }

// sealed masks what a call answers with.
func (s server) sealed(diagnostics []*tfprotov6.Diagnostic, err error) error {
	for _, diagnostic := range diagnostics {
		if diagnostic != nil {
			diagnostic.Summary, diagnostic.Detail = shown(s.masker, diagnostic.Summary), shown(s.masker, diagnostic.Detail)
		}
	}
	if err == nil {
		return nil
	}
	return diff.WithText(err, shown(s.masker, err.Error()))
}

func (s server) GetMetadata(ctx context.Context, request *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	response, err := s.ProviderServer.GetMetadata(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) GetProviderSchema(ctx context.Context, request *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	response, err := s.ProviderServer.GetProviderSchema(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) GetResourceIdentitySchemas(ctx context.Context, request *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	response, err := s.ProviderServer.GetResourceIdentitySchemas(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) ValidateProviderConfig(ctx context.Context, request *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	response, err := s.ProviderServer.ValidateProviderConfig(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) ConfigureProvider(ctx context.Context, request *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	response, err := s.ProviderServer.ConfigureProvider(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) ValidateResourceConfig(ctx context.Context, request *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	response, err := s.ProviderServer.ValidateResourceConfig(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) UpgradeResourceState(ctx context.Context, request *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	response, err := s.ProviderServer.UpgradeResourceState(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) ReadResource(ctx context.Context, request *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	response, err := s.ProviderServer.ReadResource(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) PlanResourceChange(ctx context.Context, request *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	response, err := s.ProviderServer.PlanResourceChange(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) ApplyResourceChange(ctx context.Context, request *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	response, err := s.ProviderServer.ApplyResourceChange(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) ImportResourceState(ctx context.Context, request *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	response, err := s.ProviderServer.ImportResourceState(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) MoveResourceState(ctx context.Context, request *tfprotov6.MoveResourceStateRequest) (*tfprotov6.MoveResourceStateResponse, error) {
	response, err := s.ProviderServer.MoveResourceState(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) UpgradeResourceIdentity(ctx context.Context, request *tfprotov6.UpgradeResourceIdentityRequest) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	response, err := s.ProviderServer.UpgradeResourceIdentity(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) GenerateResourceConfig(ctx context.Context, request *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	response, err := s.ProviderServer.GenerateResourceConfig(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) ValidateDataResourceConfig(ctx context.Context, request *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	response, err := s.ProviderServer.ValidateDataResourceConfig(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) ReadDataSource(ctx context.Context, request *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	response, err := s.ProviderServer.ReadDataSource(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) GetFunctions(ctx context.Context, request *tfprotov6.GetFunctionsRequest) (*tfprotov6.GetFunctionsResponse, error) {
	response, err := s.ProviderServer.GetFunctions(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) ValidateEphemeralResourceConfig(ctx context.Context, request *tfprotov6.ValidateEphemeralResourceConfigRequest) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	response, err := s.ProviderServer.ValidateEphemeralResourceConfig(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) OpenEphemeralResource(ctx context.Context, request *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	response, err := s.ProviderServer.OpenEphemeralResource(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) RenewEphemeralResource(ctx context.Context, request *tfprotov6.RenewEphemeralResourceRequest) (*tfprotov6.RenewEphemeralResourceResponse, error) {
	response, err := s.ProviderServer.RenewEphemeralResource(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) CloseEphemeralResource(ctx context.Context, request *tfprotov6.CloseEphemeralResourceRequest) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	response, err := s.ProviderServer.CloseEphemeralResource(ctx, request)
	if response == nil {
		return nil, s.sealed(nil, err)
	}
	return response, s.sealed(response.Diagnostics, err)
}

func (s server) CallFunction(ctx context.Context, request *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	response, err := s.ProviderServer.CallFunction(ctx, request)
	if response != nil && response.Error != nil {
		response.Error.Text = shown(s.masker, response.Error.Text)
	}
	return response, s.sealed(nil, err)
}

// SilenceClients keeps client-go from writing what servers say to standard error, where
// nobody masks it. It sets the logger of the process, so main calls it before all else.
func SilenceClients() { klog.SetLogger(klog.Logger{}) }
