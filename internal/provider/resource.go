package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// named gives a resource its type name, typeName_NAME.
type named struct{ name string }

func (n named) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + n.name
}

// configured hands a resource what the provider was configured with.
type configured struct{ fleet *fleet }

func (c *configured) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	c.fleet = providerData(req.ProviderData, &resp.Diagnostics)
}

// providerData is nil while Terraform validates, which it does before it
// configures.
func providerData(data any, diags *diag.Diagnostics) *fleet {
	if data == nil {
		return nil
	}
	given, ok := data.(*fleet)
	if !ok {
		diags.AddError("Unexpected provider data", fmt.Sprintf("This is an error in the provider, please report it: got %T.", data))
	}
	return given
}
