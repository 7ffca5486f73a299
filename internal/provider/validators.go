package provider

import (
	"context"
	"regexp"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
)

// dnsLabel accepts the names of clusters, groups, bundles and targets. They are
// joined by "/" in state, so they must not hold one.
func dnsLabel() validator.String {
	return stringvalidator.All(
		stringvalidator.LengthBetween(1, 63),
		stringvalidator.RegexMatches(regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`),
			"must be a DNS label: lower-case letters, digits and dashes, with a letter or digit at both ends"),
	)
}

// labelValue accepts what can stand as a Kubernetes label value.
func labelValue() validator.String {
	return stringvalidator.All(
		stringvalidator.LengthBetween(1, 63),
		stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`),
			"must be letters, digits, dots, dashes and underscores, with a letter or digit at both ends"),
	)
}

// removals accepts a number, or a percentage up to 100%.
func removals() validator.String {
	return stringvalidator.RegexMatches(regexp.MustCompile(`^([0-9]{1,6}|([0-9]{1,2}|100)%)$`), "must be a number of deployments or a percentage, such as 5 or 10%")
}

// duration accepts a duration above zero, such as "5m".
func duration() validator.String { return durationValidator{} }

type durationValidator struct{}

func (durationValidator) Description(context.Context) string {
	return "must be a duration above zero, such as 90s or 5m"
}

func (v durationValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (v durationValidator) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	parsed, err := time.ParseDuration(req.ConfigValue.ValueString())
	if err == nil && parsed > 0 {
		return
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Invalid duration", req.ConfigValue.String()+" "+v.Description(ctx)+".")
}

// required wants a value in an element of a list or map. Marked as Required in the
// schema, an attribute is missed also where the whole element is unknown: the framework
// takes what is in an unknown element for null.
func required() validator.String { return requiredValidator{} }

type requiredValidator struct{}

func (requiredValidator) Description(context.Context) string { return "must be set" }

func (v requiredValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (v requiredValidator) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	resp.Diagnostics.Append(v.validate(ctx, req.Config, req.Path, req.ConfigValue.IsNull())...)
}

func (v requiredValidator) ValidateObject(ctx context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	resp.Diagnostics.Append(v.validate(ctx, req.Config, req.Path, req.ConfigValue.IsNull())...)
}

func (v requiredValidator) validate(ctx context.Context, config tfsdk.Config, at path.Path, missing bool) diag.Diagnostics {
	if !missing {
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

// regularExpression accepts what can be compiled as one.
func regularExpression() validator.String { return regularExpressionValidator{} }

type regularExpressionValidator struct{}

func (regularExpressionValidator) Description(context.Context) string {
	return "must be a regular expression in the syntax of RE2"
}

func (v regularExpressionValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (v regularExpressionValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if _, err := regexp.Compile(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid regular expression", sentence(err))
	}
}

// gitPrefix accepts the beginning of the URL of a git repository.
func gitPrefix() validator.String { return gitPrefixValidator{} }

type gitPrefixValidator struct{}

func (gitPrefixValidator) Description(context.Context) string {
	return "must be the beginning of the URL of a git repository, such as https://github.com/acme"
}

func (v gitPrefixValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (v gitPrefixValidator) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if err := git.ValidatePrefix(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Credentials that cover no repository", sentence(err)+"\n\nA key of git "+v.Description(ctx)+".")
	}
}
