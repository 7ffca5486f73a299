package protocol

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// hideSource removes the attribute from diagnostics for which Terraform would print a credential of
// the configuration. It names the attribute in the text instead. Terraform prints the source of the
// attribute of a diagnostic. Up to 1.11 it prints whole lines. In 1.15 it prints the attribute's
// whole expression, or that of the attribute around it. Without an attribute, Terraform prints the
// first line of the block. An error about `clusters["a"].request_timeout` could thus show the token
// of the cluster.
func (s server) hideSource(ctx context.Context, request any, diagnostics []*tfprotov6.Diagnostic) {
	if !slices.ContainsFunc(diagnostics, func(d *tfprotov6.Diagnostic) bool { return d != nil && d.Attribute != nil }) {
		return
	}
	schemas, err := s.of.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	for _, diagnostic := range diagnostics {
		if diagnostic == nil || diagnostic.Attribute == nil || err == nil && !isBesideCredential(schemas, request, diagnostic.Attribute) {
			continue
		}
		diagnostic.Detail = strings.TrimPrefix(diagnostic.Detail+"\n\nThis is about "+inHCL(diagnostic.Attribute)+".", "\n\n")
		diagnostic.Attribute = nil
	}
}

// isBesideCredential reports whether the first attribute of a path is a credential or contains one.
// A credential is a sensitive attribute of the provider, or a write-only attribute of a resource.
func isBesideCredential(schemas *tfprotov6.GetProviderSchemaResponse, request any, path *tftypes.AttributePath) bool {
	isCredential := func(of *tfprotov6.SchemaAttribute) bool { return of.WriteOnly }
	var schema *tfprotov6.Schema
	switch request := request.(type) {
	case *tfprotov6.ValidateProviderConfigRequest, *tfprotov6.ConfigureProviderRequest:
		schema = schemas.Provider
		isCredential = func(of *tfprotov6.SchemaAttribute) bool { return of.Sensitive }
	case *tfprotov6.ValidateResourceConfigRequest:
		schema = schemas.ResourceSchemas[request.TypeName]
	case *tfprotov6.PlanResourceChangeRequest:
		schema = schemas.ResourceSchemas[request.TypeName]
	case *tfprotov6.ApplyResourceChangeRequest:
		schema = schemas.ResourceSchemas[request.TypeName]
	}
	if schema == nil || schema.Block == nil || len(path.Steps()) == 0 {
		return false
	}
	first := path.Steps()[0]
	return slices.ContainsFunc(schema.Block.Attributes, func(of *tfprotov6.SchemaAttribute) bool {
		return tftypes.AttributeName(of.Name) == first && contains(of, isCredential)
	})
}

func contains(attribute *tfprotov6.SchemaAttribute, is func(*tfprotov6.SchemaAttribute) bool) bool {
	return is(attribute) || attribute.NestedType != nil &&
		slices.ContainsFunc(attribute.NestedType.Attributes, func(of *tfprotov6.SchemaAttribute) bool { return contains(of, is) })
}

// inHCL writes a path as in a configuration, such as clusters["a"].exec.args[0].
func inHCL(path *tftypes.AttributePath) string {
	var text strings.Builder
	for i, step := range path.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			if i > 0 {
				text.WriteString(".")
			}
			text.WriteString(string(step))
		case tftypes.ElementKeyString:
			fmt.Fprintf(&text, "[%q]", string(step))
		case tftypes.ElementKeyInt:
			fmt.Fprintf(&text, "[%d]", int64(step))
		default:
			text.WriteString("[…]") // An element of a set.
		}
	}
	return text.String()
}
