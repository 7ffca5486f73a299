package protocol

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// hideSource takes the attribute from diagnostics beside which Terraform would print a credential that
// stands in the configuration. Terraform prints the source of the attribute that a diagnostic is about:
// the first line of its expression up to 1.11, and all of it in 1.15. Without an attribute it prints the
// first line of the block.
//
// An attribute is printed by itself and as a part of what it is in: `git` and `git["https://github.com/"]`
// have a `token`.
func (s server) hideSource(ctx context.Context, request any, diagnostics []*tfprotov6.Diagnostic) {
	if !slices.ContainsFunc(diagnostics, func(d *tfprotov6.Diagnostic) bool { return d != nil && d.Attribute != nil }) {
		return
	}
	schemas, err := s.ProviderServer.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	for _, diagnostic := range diagnostics {
		if diagnostic != nil && diagnostic.Attribute != nil && (err != nil || hasCredential(schemas, request, diagnostic.Attribute)) {
			diagnostic.Attribute = nil
		}
	}
}

// hasCredential reports whether a path leads to a credential or to what contains one: sensitive
// attributes of the provider, and write-only ones of resources.
func hasCredential(schemas *tfprotov6.GetProviderSchemaResponse, request any, path *tftypes.AttributePath) bool {
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
	if schema == nil || schema.Block == nil {
		return false
	}
	attributes := schema.Block.Attributes
	var last *tfprotov6.SchemaAttribute
	for _, step := range path.Steps() {
		name, isName := step.(tftypes.AttributeName)
		if !isName {
			continue // An element has the attributes of its collection.
		}
		at := slices.IndexFunc(attributes, func(of *tfprotov6.SchemaAttribute) bool { return of.Name == string(name) })
		if at < 0 {
			return false
		}
		last = attributes[at]
		if isCredential(last) {
			return true
		}
		attributes = nested(last)
	}
	return last != nil && slices.ContainsFunc(nested(last), func(of *tfprotov6.SchemaAttribute) bool { return contains(of, isCredential) })
}

func contains(attribute *tfprotov6.SchemaAttribute, is func(*tfprotov6.SchemaAttribute) bool) bool {
	return is(attribute) || slices.ContainsFunc(nested(attribute), func(of *tfprotov6.SchemaAttribute) bool { return contains(of, is) })
}

func nested(attribute *tfprotov6.SchemaAttribute) []*tfprotov6.SchemaAttribute {
	if attribute.NestedType == nil {
		return nil
	}
	return attribute.NestedType.Attributes
}
