package framework

import (
	"fmt"
	"reflect"
	"slices"

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
	return converted[datasource.Attribute](attributes,
		datasource.StringAttribute{}, datasource.BoolAttribute{}, datasource.Int64Attribute{}, datasource.ListAttribute{}, datasource.MapAttribute{},
		datasource.SingleNestedAttribute{}, datasource.ListNestedAttribute{}, datasource.MapNestedAttribute{})
}

// Provider turns the attributes of a resource into those of a provider, like DataSource.
func Provider(attributes map[string]resource.Attribute) map[string]provider.Attribute {
	return converted[provider.Attribute](attributes,
		provider.StringAttribute{}, provider.BoolAttribute{}, provider.Int64Attribute{}, provider.Float64Attribute{}, provider.ListAttribute{},
		provider.MapAttribute{}, provider.SingleNestedAttribute{}, provider.ListNestedAttribute{}, provider.MapNestedAttribute{})
}

// converted turns each attribute into the kind with the same name.
func converted[A any](attributes map[string]resource.Attribute, kinds ...A) map[string]A {
	all := make(map[string]A, len(attributes))
	for name, attribute := range attributes {
		from := reflect.ValueOf(attribute)
		i := slices.IndexFunc(kinds, func(kind A) bool { return reflect.TypeOf(kind).Name() == from.Type().Name() })
		if i < 0 {
			panic(fmt.Sprintf("attribute %s of type %T cannot be converted", name, attribute))
		}
		to := reflect.New(reflect.TypeOf(kinds[i])).Elem()
		copyFields(from, to, kinds)
		all[name], _ = reflect.TypeAssert[A](to)
	}
	return all
}

// copyFields copies the fields that two kinds of attribute have in common, and converts attributes
// in them. Defaults and plan modifiers are for resources only.
func copyFields[A any](from, to reflect.Value, kinds []A) {
	for i := range to.NumField() {
		field := from.FieldByName(to.Type().Field(i).Name)
		if !field.IsValid() {
			continue
		}
		switch value := field.Interface().(type) {
		case map[string]resource.Attribute:
			to.Field(i).Set(reflect.ValueOf(converted(value, kinds...)))
		case resource.NestedAttributeObject:
			copyFields(field, to.Field(i), kinds)
		default:
			if field.Type() == to.Field(i).Type() {
				to.Field(i).Set(field)
			}
		}
	}
}
