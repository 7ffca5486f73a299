package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	datasourceschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/image"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// newImageTagsDataSource finds the newest tag of an image by a policy.
func newImageTagsDataSource() datasource.DataSource {
	return framework.NewDataSource("image_tags", imageTagsSchema, (*providerData).readImageTags)
}

// The values of order in HCL.
const (
	ascending  = "asc"
	descending = "desc"
)

func imageTagsSchema() datasourceschema.Schema {
	semver := framework.OptionalObject("The largest version in a range. Tags that are no semantic version do not count.", map[string]schema.Attribute{
		"range": framework.OptionalString("The range, such as `~1.4` or `>=2.0.0, <3.0.0`, or `*` for all. Pre-releases count only if the range has one, as in `>=1.0.0-0`. Required."),
	})
	other := path.MatchRelative().AtParent()
	semver.Validators = []validator.Object{
		framework.Criteria{"range"}, objectvalidator.ConflictsWith(other.AtName("alphabetical"), other.AtName("numerical")),
	}
	alphabetical := framework.OptionalObject("The last tag in the alphabet.", orderAttributes())
	alphabetical.Validators = []validator.Object{objectvalidator.ConflictsWith(other.AtName("numerical"))}
	numerical := framework.OptionalObject("The largest whole number. Tags that are no whole number do not count.", orderAttributes())
	numerical.Validators = nil // An empty object selects in ascending order.
	attributes := map[string]schema.Attribute{
		"image": framework.RequiredString("Name of the image, such as `ghcr.io/acme/web`. A tag or digest in it does not count. Credentials are those of the provider's `registries` for `oci://` and this name; Docker Hub is `oci://docker.io`."),
		"policy": framework.OptionalObject("Which tag is the newest, as in `imageScans` of a fleet.yaml. At most one of the three. Default: the largest semantic version that is no pre-release.", map[string]schema.Attribute{
			"semver":       semver,
			"alphabetical": alphabetical,
			"numerical":    numerical,
		}),
		"filter": framework.OptionalString("Regular expression. Tags that it does not match do not count. If it has a group, the text of the group is compared: "+
			"`^main-[0-9a-f]+-([0-9]+)$` with `numerical` takes the tag with the largest last number.", framework.RegularExpression()),
		"repository": framework.ComputedString("The name of the image with its registry and without a tag, such as `index.docker.io/library/nginx` for `nginx`."),
		"tag":        framework.ComputedString("The newest tag."),
		"digest":     framework.ComputedString("The digest of what the tag leads to, such as `sha256:…`. It is that of the index if there are images for several platforms."),
		"reference":  framework.ComputedString("Name, tag and digest: `ghcr.io/acme/web:1.4.2@sha256:…`."),
		"tags":       framework.ComputedStrings("The tags that count, the newest first. At most 100."),
	}
	return datasourceschema.Schema{
		MarkdownDescription: "The newest tag of a container image by a policy, from an OCI registry, and its digest. It is read by each plan. " +
			"A saved plan deploys the tag that was found. If the registry cannot be read, the plan fails, and nothing changes.",
		Attributes: framework.DataSource(attributes),
	}
}

func orderAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"order": framework.OptionalString("`desc` (default) takes the largest, `asc` the smallest, as Fleet does.", stringvalidator.OneOf(ascending, descending)),
	}
}

type imageTagsModel struct {
	Image      types.String `tfsdk:"image"`
	Policy     types.Object `tfsdk:"policy"`
	Filter     types.String `tfsdk:"filter"`
	Repository types.String `tfsdk:"repository"`
	Tag        types.String `tfsdk:"tag"`
	Digest     types.String `tfsdk:"digest"`
	Reference  types.String `tfsdk:"reference"`
	Tags       types.List   `tfsdk:"tags"`
}

type imagePolicyModel struct {
	SemVer       *semverPolicyModel `tfsdk:"semver"`
	Alphabetical *orderPolicyModel  `tfsdk:"alphabetical"`
	Numerical    *orderPolicyModel  `tfsdk:"numerical"`
}

type semverPolicyModel struct {
	Range string `tfsdk:"range"`
}

type orderPolicyModel struct {
	Order string `tfsdk:"order"`
}

func (p *providerData) readImageTags(ctx context.Context, data *imageTagsModel, diags *diag.Diagnostics) {
	policy := data.policy(ctx, diags)
	if diags.HasError() {
		return
	}
	found, err := image.Find(ctx, p.fetcher, data.Image.ValueString(), policy)
	if err != nil {
		diagnostics.Add(diags, report.NoTag(data.Image.ValueString(), err))
		return
	}
	data.Repository = types.StringValue(found.Image)
	data.Tag = types.StringValue(found.Tag.Tag)
	data.Digest = types.StringValue(found.Digest)
	data.Reference = types.StringValue(found.Pinned())
	const most = 100
	data.Tags = framework.StringListValue(found.Tags[:min(most, len(found.Tags))])
}

// policy converts from values of Terraform.
func (m imageTagsModel) policy(ctx context.Context, diags *diag.Diagnostics) image.Policy {
	policy := image.Policy{Filter: m.Filter.ValueString()}
	if m.Policy.IsNull() {
		return policy
	}
	var of imagePolicyModel
	framework.AsPlain(ctx, m.Policy, &of, diags)
	switch {
	case of.SemVer != nil:
		policy.Range = of.SemVer.Range
	case of.Alphabetical != nil:
		policy.By, policy.Smallest = image.Alphabetical, of.Alphabetical.Order == ascending
	case of.Numerical != nil:
		policy.By, policy.Smallest = image.Numerical, of.Numerical.Order == ascending
	}
	return policy
}
