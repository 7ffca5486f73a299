package framework

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// DNSLabel accepts a DNS label, such as the name of an object of Kubernetes.
func DNSLabel() validator.String {
	return stringvalidator.All(
		stringvalidator.LengthBetween(1, 63),
		stringvalidator.RegexMatches(regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`),
			"must be a DNS label: lower-case letters, digits and dashes, with a letter or digit at both ends"),
	)
}

// LabelValue accepts the value of a label of Kubernetes that is not empty.
func LabelValue() validator.String {
	return stringvalidator.All(
		stringvalidator.LengthBetween(1, 63),
		stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`),
			"must be letters, digits, dots, dashes and underscores, with a letter or digit at both ends"),
	)
}

// described is the description of a validator.
type described string

func (d described) Description(context.Context) string { return string(d) }

func (d described) MarkdownDescription(context.Context) string { return string(d) }

type stringValidator struct {
	described

	summary string
	problem func(text string) string
}

// Text accepts a string if problem returns "". Any other result of problem is the detail of an
// error with the given summary.
func Text(description, summary string, problem func(text string) string) validator.String {
	return stringValidator{described(description), summary, problem}
}

func (v stringValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if detail := v.problem(req.ConfigValue.ValueString()); detail != "" {
		resp.Diagnostics.AddAttributeError(req.Path, v.summary, detail)
	}
}

// Duration accepts a duration above zero, such as "5m".
func Duration() validator.String {
	return durationFrom(1, "must be a duration above zero, such as 90s or 5m")
}

// DurationFromZero accepts a duration that can be zero.
func DurationFromZero() validator.String {
	return durationFrom(0, "must be a duration of zero or more, such as 0s or 5m")
}

func durationFrom(least time.Duration, description string) validator.String {
	return Text(description, "Invalid duration", func(text string) string {
		if parsed, err := time.ParseDuration(text); err != nil || parsed < least {
			return fmt.Sprintf("%q %s.", text, description)
		}
		return ""
	})
}

// RegularExpression accepts a text that can be compiled as a regular expression.
func RegularExpression() validator.String {
	return Text("must be a regular expression in the syntax of RE2", "Invalid regular expression", func(text string) string {
		if _, err := regexp.Compile(text); err != nil {
			return strings.Replace(err.Error(), "error", "Error", 1) + "."
		}
		return ""
	})
}

// Required is a validator of strings and of objects that requires a value in an element of a list
// or map. The schema's own Required would also report an attribute as missing if the whole element
// is unknown: the framework treats its attributes as null.
type Required struct{}

// Description describes the validator.
func (Required) Description(context.Context) string { return "must be set" }

// MarkdownDescription describes the validator.
func (v Required) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateString requires a string.
func (v Required) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	resp.Diagnostics.Append(v.validate(ctx, req.Config, req.Path, req.ConfigValue)...)
}

// ValidateObject requires an object.
func (v Required) ValidateObject(ctx context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	resp.Diagnostics.Append(v.validate(ctx, req.Config, req.Path, req.ConfigValue)...)
}

func (Required) validate(ctx context.Context, config tfsdk.Config, at path.Path, value attr.Value) diag.Diagnostics {
	if !value.IsNull() {
		return nil
	}
	var element types.Object
	diags := config.GetAttribute(ctx, at.ParentPath(), &element)
	if diags.HasError() || element.IsUnknown() || element.IsNull() {
		return diags
	}
	diags.AddAttributeError(at, "Missing attribute", "A value for "+at.String()+" is required.")
	return diags
}

type needsFloat64 struct {
	described

	sibling, summary, detail string
}

// NeedsFloat64 warns, with the given summary and detail, if a number is set and another attribute
// is missing.
func NeedsFloat64(sibling, summary, detail string) validator.Int64 {
	return needsFloat64{described("has an effect with " + sibling + " only"), sibling, summary, detail}
}

func (v needsFloat64) ValidateInt64(ctx context.Context, req validator.Int64Request, resp *validator.Int64Response) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	var sibling types.Float64
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, req.Path.ParentPath().AtName(v.sibling), &sibling)...)
	if sibling.IsNull() {
		resp.Diagnostics.AddAttributeWarning(req.Path, v.summary, v.detail)
	}
}
