package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// newGitRepoDataSource makes the same bundles as the resource. It is read while planning and not again
// when a saved plan is applied, so it pins a branch.
func newGitRepoDataSource() datasource.DataSource {
	return framework.NewDataSource("gitrepo", gitRepoSchema, (*providerData).readGitRepo)
}

func gitRepoSchema() schema.Schema {
	attributes := framework.DataSource(gitRepoAttributes())
	attributes["definitions"] = schema.MapAttribute{
		Computed: true, ElementType: types.StringType,
		MarkdownDescription: "The content of each bundle, as JSON with Fleet's field names, its files as name and SHA-256. Use it in CI to see how a change affects bundles.",
	}
	return schema.Schema{
		MarkdownDescription: "Builds bundles from a git repository or a local folder while planning, as the resource `fleet_gitrepo` does. " +
			"A saved plan applies the commit that was found, even if the branch has moved since.",
		Attributes: attributes,
	}
}

type gitRepoDataModel struct {
	gitRepoModel

	Definitions types.Map `tfsdk:"definitions"`
}

func (p *providerData) readGitRepo(ctx context.Context, data *gitRepoDataModel, diags *diag.Diagnostics) {
	data.Commit, data.Bundles = types.StringUnknown(), types.MapUnknown(bundleObjectType())
	data.resolve(ctx, p, data.requestOf(ctx, gitRepoModel{}, diags), diags)
	if !diags.HasError() {
		data.Definitions = p.definitions(ctx, data.Bundles, diags)
	}
}

func (p *providerData) definitions(ctx context.Context, bundles types.Map, diags *diag.Diagnostics) types.Map {
	definitions := map[string]attr.Value{}
	for name, element := range elementsOf(bundles) {
		made, err := p.source.Bundle(ctx, element.Descriptor, element.Digest)
		if err != nil {
			diagnostics.Add(diags, report.Failed("Cannot read bundle "+name, err))
			continue
		}
		text, err := made.DefinitionJSON()
		if err != nil {
			diagnostics.Add(diags, report.Failed("Cannot write the definition of bundle "+name, err))
			continue
		}
		definitions[name] = types.StringValue(text)
	}
	return types.MapValueMust(types.StringType, definitions)
}
