package framework

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	provider "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	resource "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// OptionalString is an optional attribute.
func OptionalString(description string, validators ...validator.String) resource.StringAttribute {
	return resource.StringAttribute{Optional: true, MarkdownDescription: description, Validators: validators}
}

// RequiredString is a required attribute.
func RequiredString(description string, validators ...validator.String) resource.StringAttribute {
	return resource.StringAttribute{Required: true, MarkdownDescription: description, Validators: validators}
}

// ComputedString is a computed attribute.
func ComputedString(description string) resource.StringAttribute {
	return resource.StringAttribute{Computed: true, MarkdownDescription: description}
}

// SecretString is an optional attribute that is sensitive.
func SecretString(description string) resource.StringAttribute {
	return resource.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: description}
}

// OptionalBool is an optional attribute.
func OptionalBool(description string) resource.BoolAttribute {
	return resource.BoolAttribute{Optional: true, MarkdownDescription: description}
}

// OptionalNumber is an optional attribute for a whole number from 0.
func OptionalNumber(description string) resource.Int64Attribute {
	return resource.Int64Attribute{Optional: true, MarkdownDescription: description, Validators: []validator.Int64{int64validator.AtLeast(0)}}
}

// OptionalStrings is an optional list.
func OptionalStrings(description string) resource.ListAttribute {
	return resource.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description}
}

// ComputedStrings is a computed list.
func ComputedStrings(description string) resource.ListAttribute {
	return resource.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

// OptionalStringMap is an optional map.
func OptionalStringMap(description string) resource.MapAttribute {
	return resource.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description}
}

// OptionalObject is an optional object. It warns if nothing is set in it.
func OptionalObject(description string, attributes map[string]resource.Attribute) resource.SingleNestedAttribute {
	return resource.SingleNestedAttribute{Optional: true, MarkdownDescription: description, Attributes: attributes, Validators: optionsOf(attributes)}
}

// OptionalObjects is an optional list of objects. It warns if nothing is set in one of them.
func OptionalObjects(description string, attributes map[string]resource.Attribute) resource.ListNestedAttribute {
	return resource.ListNestedAttribute{
		Optional: true, MarkdownDescription: description,
		NestedObject: resource.NestedAttributeObject{Attributes: attributes, Validators: optionsOf(attributes)},
	}
}

// ComputedObjects is a computed map of objects.
func ComputedObjects(description string, attributes map[string]resource.Attribute) resource.MapNestedAttribute {
	return resource.MapNestedAttribute{
		Computed: true, MarkdownDescription: description,
		NestedObject: resource.NestedAttributeObject{Attributes: attributes},
	}
}

// DataSource turns the attributes of a resource into those of a data source, so that a description
// or a validator is written once. It supports the kinds of attribute that are used so far, and
// panics for another one.
func DataSource(attributes map[string]resource.Attribute) map[string]datasource.Attribute {
	all := make(map[string]datasource.Attribute, len(attributes))
	for name, attribute := range attributes {
		all[name] = dataSourceAttribute(name, attribute)
	}
	return all
}

func dataSourceAttribute(name string, attribute resource.Attribute) datasource.Attribute {
	switch a := attribute.(type) {
	case resource.StringAttribute:
		return copied[datasource.StringAttribute](a)
	case resource.BoolAttribute:
		return copied[datasource.BoolAttribute](a)
	case resource.Int64Attribute:
		return copied[datasource.Int64Attribute](a)
	case resource.ListAttribute:
		return copied[datasource.ListAttribute](a)
	case resource.MapAttribute:
		return copied[datasource.MapAttribute](a)
	case resource.SingleNestedAttribute:
		nested := copied[datasource.SingleNestedAttribute](a)
		nested.Attributes = DataSource(a.Attributes)
		return nested
	case resource.ListNestedAttribute:
		nested := copied[datasource.ListNestedAttribute](a)
		nested.NestedObject.Attributes, nested.NestedObject.Validators = DataSource(a.NestedObject.Attributes), a.NestedObject.Validators
		return nested
	case resource.MapNestedAttribute:
		nested := copied[datasource.MapNestedAttribute](a)
		nested.NestedObject.Attributes, nested.NestedObject.Validators = DataSource(a.NestedObject.Attributes), a.NestedObject.Validators
		return nested
	}
	panic(fmt.Sprintf("attribute %s of type %T cannot be converted for data sources", name, attribute))
}

// Provider turns the attributes of a resource into those of a provider, like DataSource.
func Provider(attributes map[string]resource.Attribute) map[string]provider.Attribute {
	all := make(map[string]provider.Attribute, len(attributes))
	for name, attribute := range attributes {
		all[name] = providerAttribute(name, attribute)
	}
	return all
}

func providerAttribute(name string, attribute resource.Attribute) provider.Attribute {
	switch a := attribute.(type) {
	case resource.StringAttribute:
		return copied[provider.StringAttribute](a)
	case resource.BoolAttribute:
		return copied[provider.BoolAttribute](a)
	case resource.Int64Attribute:
		return copied[provider.Int64Attribute](a)
	case resource.Float64Attribute:
		return copied[provider.Float64Attribute](a)
	case resource.ListAttribute:
		return copied[provider.ListAttribute](a)
	case resource.MapAttribute:
		return copied[provider.MapAttribute](a)
	case resource.SingleNestedAttribute:
		nested := copied[provider.SingleNestedAttribute](a)
		nested.Attributes = Provider(a.Attributes)
		return nested
	case resource.ListNestedAttribute:
		nested := copied[provider.ListNestedAttribute](a)
		nested.NestedObject.Attributes, nested.NestedObject.Validators = Provider(a.NestedObject.Attributes), a.NestedObject.Validators
		return nested
	case resource.MapNestedAttribute:
		nested := copied[provider.MapNestedAttribute](a)
		nested.NestedObject.Attributes, nested.NestedObject.Validators = Provider(a.NestedObject.Attributes), a.NestedObject.Validators
		return nested
	}
	panic(fmt.Sprintf("attribute %s of type %T cannot be converted for providers", name, attribute))
}

// copied copies the fields that two kinds of attribute have in common. Defaults and plan
// modifiers are for resources only.
func copied[T any](attribute resource.Attribute) T {
	var to T
	from, fields := reflect.ValueOf(attribute), reflect.ValueOf(&to).Elem()
	for i := range fields.NumField() {
		field := from.FieldByName(fields.Type().Field(i).Name)
		if field.IsValid() && field.Type() == fields.Field(i).Type() {
			fields.Field(i).Set(field)
		}
	}
	return to
}
