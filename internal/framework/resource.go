package framework

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// ResourceName is the name of a resource without that of its provider.
type ResourceName string

// Metadata sets the name of the type.
func (n ResourceName) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + string(n)
}

// ProviderData returns the configured data of a provider. It is the zero value during validation,
// because Terraform validates before it configures.
func ProviderData[T any](data any, diags *diag.Diagnostics) T {
	given, ok := data.(T)
	if data != nil && !ok {
		diags.AddError("Unexpected provider data", fmt.Sprintf("This is an error in the provider, please report it: got %T.", data))
	}
	return given
}

type dataSource[D comparable, M any] struct {
	name   string
	schema func() schema.Schema
	read   func(with D, ctx context.Context, model *M, diags *diag.Diagnostics)
	with   D
}

// NewDataSource returns a data source with a name without that of its provider. read completes a model
// M of the configuration, with the data D of the configured provider. It is not called while Terraform
// validates.
func NewDataSource[D comparable, M any](
	name string, schema func() schema.Schema, read func(with D, ctx context.Context, model *M, diags *diag.Diagnostics),
) datasource.DataSourceWithConfigure {
	return &dataSource[D, M]{name: name, schema: schema, read: read}
}

func (d *dataSource[D, M]) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + d.name
}

func (d *dataSource[D, M]) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = d.schema()
}

func (d *dataSource[D, M]) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.with = ProviderData[D](req.ProviderData, &resp.Diagnostics)
}

func (d *dataSource[D, M]) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var (
		model M
		none  D
	)
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() || d.with == none {
		return
	}
	if d.read(d.with, ctx, &model, &resp.Diagnostics); !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &model)...)
	}
}

type simpleFunction struct {
	name       string
	definition function.Definition
	run        func(context.Context, function.RunRequest, *function.RunResponse)
}

// NewFunction returns a function that is described by its definition and computed by run.
func NewFunction(name string, definition function.Definition, run func(context.Context, function.RunRequest, *function.RunResponse)) function.Function {
	return simpleFunction{name, definition, run}
}

func (f simpleFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = f.name
}

func (f simpleFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = f.definition
}

func (f simpleFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	f.run(ctx, req, resp)
}
