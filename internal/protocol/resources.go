package protocol

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// resources masks diagnostics of the methods for managed resources.
type resources struct{ masking }

func (r resources) ValidateResourceConfig(ctx context.Context, request *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return masked(ctx, r.masking, r.of.ValidateResourceConfig, request, func(of *tfprotov6.ValidateResourceConfigResponse) []*tfprotov6.Diagnostic { return of.Diagnostics })
}

func (r resources) UpgradeResourceState(ctx context.Context, request *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return masked(ctx, r.masking, r.of.UpgradeResourceState, request, func(of *tfprotov6.UpgradeResourceStateResponse) []*tfprotov6.Diagnostic { return of.Diagnostics })
}

func (r resources) ReadResource(ctx context.Context, request *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return masked(ctx, r.masking, r.of.ReadResource, request, func(of *tfprotov6.ReadResourceResponse) []*tfprotov6.Diagnostic { return of.Diagnostics })
}

func (r resources) PlanResourceChange(ctx context.Context, request *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	return masked(ctx, r.masking, r.of.PlanResourceChange, request, func(of *tfprotov6.PlanResourceChangeResponse) []*tfprotov6.Diagnostic { return of.Diagnostics })
}

func (r resources) ApplyResourceChange(ctx context.Context, request *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	ctx, err := withPlanned(ctx, request)
	if err != nil {
		return nil, err
	}
	return masked(ctx, r.masking, r.of.ApplyResourceChange, request, func(of *tfprotov6.ApplyResourceChangeResponse) []*tfprotov6.Diagnostic { return of.Diagnostics })
}

func (r resources) ImportResourceState(ctx context.Context, request *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	return masked(ctx, r.masking, r.of.ImportResourceState, request, func(of *tfprotov6.ImportResourceStateResponse) []*tfprotov6.Diagnostic { return of.Diagnostics })
}

func (r resources) MoveResourceState(ctx context.Context, request *tfprotov6.MoveResourceStateRequest) (*tfprotov6.MoveResourceStateResponse, error) {
	return masked(ctx, r.masking, r.of.MoveResourceState, request, func(of *tfprotov6.MoveResourceStateResponse) []*tfprotov6.Diagnostic { return of.Diagnostics })
}

func (r resources) UpgradeResourceIdentity(ctx context.Context, request *tfprotov6.UpgradeResourceIdentityRequest) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	return masked(ctx, r.masking, r.of.UpgradeResourceIdentity, request, func(of *tfprotov6.UpgradeResourceIdentityResponse) []*tfprotov6.Diagnostic { return of.Diagnostics })
}

func (r resources) GenerateResourceConfig(ctx context.Context, request *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	return masked(ctx, r.masking, r.of.GenerateResourceConfig, request, func(of *tfprotov6.GenerateResourceConfigResponse) []*tfprotov6.Diagnostic { return of.Diagnostics })
}
