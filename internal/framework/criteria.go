package framework

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// everything is the attribute that selects everything.
const everything = "all"

// dropped explains why an object is empty.
const dropped = "Terraform drops attributes that it does not know, such as matchLabels in place of match_labels, before a provider sees them."

// Criteria is a validator of objects that select something by these attributes: one of them must be
// set. Terraform drops attributes that it does not know. So an object with a misspelt attribute is
// empty, and an empty one must not select everything.
type Criteria []string

// Description describes the validator.
func (c Criteria) Description(context.Context) string {
	return "must have one of " + strings.Join(c, ", ")
}

// MarkdownDescription describes the validator.
func (c Criteria) MarkdownDescription(ctx context.Context) string { return c.Description(ctx) }

// ValidateObject requires one of the attributes. The attribute for everything excludes the others.
func (c Criteria) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if isUnset(req.Path, req.ConfigValue) {
		return
	}
	attributes := req.ConfigValue.Attributes()
	set := slices.DeleteFunc(slices.Clone(c), func(name string) bool { return !selects(attributes[name]) })
	switch {
	case len(set) == 0:
		resp.Diagnostics.AddAttributeError(req.Path, "Nothing is selected",
			fmt.Sprintf("%s has no criterion. Set one of %s.%s\n\n%s An empty map, list or text is no criterion.", req.Path, strings.Join(c, ", "), c.hint(), dropped))
	case len(set) > 1 && isTrue(attributes[everything]):
		others := slices.DeleteFunc(set, func(name string) bool { return name == everything })
		resp.Diagnostics.AddAttributeError(req.Path, "Contradictory criteria",
			fmt.Sprintf("%s has all = true, which selects everything, and %s. Remove one of them.", req.Path, strings.Join(others, ", ")))
	}
}

func (c Criteria) hint() string {
	if slices.Contains(c, everything) {
		return " To select everything, set all = true."
	}
	return ""
}

// isUnset reports whether an object is not known yet, or was left out. An element of a list or a map
// cannot be left out.
func isUnset(at path.Path, object types.Object) bool {
	if object.IsUnknown() || !object.IsNull() {
		return object.IsUnknown()
	}
	last, _ := at.Steps().LastStep()
	_, isAttribute := last.(path.PathStepAttributeName)
	return isAttribute
}

func isTrue(value attr.Value) bool {
	flag, ok := value.(types.Bool)
	return ok && flag.ValueBool()
}

// selects reports whether an attribute is a criterion. An unknown one counts as set.
func selects(value attr.Value) bool {
	if value == nil || value.IsNull() || value.IsUnknown() {
		return value != nil && value.IsUnknown()
	}
	switch value := value.(type) {
	case types.Bool:
		return value.ValueBool()
	case types.String:
		return value.ValueString() != ""
	case types.Map:
		return len(value.Elements()) > 0
	case types.List:
		return len(value.Elements()) > 0
	}
	return true
}

// Options is a validator of objects with options. It warns if nothing is set, or with names of
// attributes, if only others are. That is no error, because modules pass objects of nulls.
type Options []string

// Description describes the validator.
func (o Options) Description(context.Context) string { return "should have an attribute" }

// MarkdownDescription describes the validator.
func (o Options) MarkdownDescription(ctx context.Context) string { return o.Description(ctx) }

// ValidateObject warns of an object without options.
func (o Options) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if isUnset(req.Path, req.ConfigValue) {
		return
	}
	var set []string
	for name, value := range req.ConfigValue.Attributes() {
		if !value.IsNull() {
			set = append(set, name)
		}
	}
	if len(o) == 0 && len(set) > 0 || len(o) > 0 && (len(set) == 0 || slices.ContainsFunc(set, o.contain)) {
		return
	}
	resp.Diagnostics.AddAttributeWarning(req.Path, "Nothing is set",
		fmt.Sprintf("%s sets %s. Remove it, or correct the names of its attributes.\n\n%s", req.Path, o.missing(), dropped))
}

func (o Options) contain(name string) bool { return slices.Contains(o, name) }

func (o Options) missing() string {
	if len(o) == 0 {
		return "no attribute"
	}
	return "none of " + strings.Join(o, ", ")
}

// optionsOf returns the validators of an object with these attributes. If one of them is required,
// an object without it is an error anyway.
func optionsOf(attributes map[string]schema.Attribute) []validator.Object {
	for _, attribute := range attributes {
		text, isText := attribute.(schema.StringAttribute)
		if attribute.IsRequired() || isText && slices.Contains(text.Validators, validator.String(Required{})) {
			return nil
		}
	}
	return []validator.Object{Options{}}
}
