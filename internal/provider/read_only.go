package provider

import (
	"fmt"

	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	resource "github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// readOnly turns the attributes of a resource into those of a data source, so
// that a description or a validator is written once. It knows the kinds of
// attribute that are used so far; another one is an error of the provider.
func readOnly(attributes map[string]resource.Attribute) map[string]datasource.Attribute {
	turned := make(map[string]datasource.Attribute, len(attributes))
	for name, attribute := range attributes {
		turned[name] = readOnlyAttribute(name, attribute)
	}
	return turned
}

func readOnlyAttribute(name string, attribute resource.Attribute) datasource.Attribute {
	switch a := attribute.(type) {
	case resource.StringAttribute:
		return datasource.StringAttribute{
			Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive,
			MarkdownDescription: a.MarkdownDescription, CustomType: a.CustomType, Validators: a.Validators,
		}
	case resource.BoolAttribute:
		return datasource.BoolAttribute{
			Required: a.Required, Optional: a.Optional, Computed: a.Computed,
			MarkdownDescription: a.MarkdownDescription, Validators: a.Validators,
		}
	case resource.Int64Attribute:
		return datasource.Int64Attribute{
			Required: a.Required, Optional: a.Optional, Computed: a.Computed,
			MarkdownDescription: a.MarkdownDescription, Validators: a.Validators,
		}
	case resource.ListAttribute:
		return datasource.ListAttribute{
			Required: a.Required, Optional: a.Optional, Computed: a.Computed, ElementType: a.ElementType,
			MarkdownDescription: a.MarkdownDescription, Validators: a.Validators,
		}
	case resource.MapAttribute:
		return datasource.MapAttribute{
			Required: a.Required, Optional: a.Optional, Computed: a.Computed, ElementType: a.ElementType,
			MarkdownDescription: a.MarkdownDescription, Validators: a.Validators,
		}
	case resource.SingleNestedAttribute:
		return datasource.SingleNestedAttribute{
			Required: a.Required, Optional: a.Optional, Computed: a.Computed, Attributes: readOnly(a.Attributes),
			MarkdownDescription: a.MarkdownDescription, Validators: a.Validators,
		}
	case resource.ListNestedAttribute:
		return datasource.ListNestedAttribute{
			Required: a.Required, Optional: a.Optional, Computed: a.Computed,
			NestedObject:        datasource.NestedAttributeObject{Attributes: readOnly(a.NestedObject.Attributes)},
			MarkdownDescription: a.MarkdownDescription, Validators: a.Validators,
		}
	case resource.MapNestedAttribute:
		return datasource.MapNestedAttribute{
			Required: a.Required, Optional: a.Optional, Computed: a.Computed,
			NestedObject:        datasource.NestedAttributeObject{Attributes: readOnly(a.NestedObject.Attributes)},
			MarkdownDescription: a.MarkdownDescription, Validators: a.Validators,
		}
	}
	panic(fmt.Sprintf("attribute %s of type %T has no form for data sources", name, attribute))
}
