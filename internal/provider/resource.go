package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
)

// configured gives a resource the data of the configured provider. The data is nil while Terraform
// validates.
type configured struct{ providerData *providerData }

func (c *configured) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	c.providerData = framework.ProviderData[*providerData](req.ProviderData, &resp.Diagnostics)
}

type modelReader interface {
	Get(ctx context.Context, target any) diag.Diagnostics
}

type valueWriter interface {
	Set(ctx context.Context, value any) diag.Diagnostics
}

type modelWriter interface {
	SetAttribute(ctx context.Context, at path.Path, value any) diag.Diagnostics
}
