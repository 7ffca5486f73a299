package provider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

var _ datasource.DataSourceWithConfigure = (*gitRepoDataSource)(nil)

// gitRepoDataSource makes the same bundles as the resource. It is read while
// planning and not again when a saved plan is applied, so it pins a branch.
type gitRepoDataSource struct{ fleet *fleet }

func newGitRepoDataSource() datasource.DataSource { return &gitRepoDataSource{} }

func (d *gitRepoDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_gitrepo"
}

func (d *gitRepoDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.fleet = providerData(req.ProviderData, &resp.Diagnostics)
}

func (d *gitRepoDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := readOnly(gitRepoAttributes())
	attributes["definitions"] = schema.MapAttribute{
		Computed: true, ElementType: types.StringType,
		MarkdownDescription: "What each bundle is made of, as JSON in Fleet's field names, its files as name and SHA-256: to see in CI what a change does to bundles.",
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Makes bundles of a git repository or a local folder, as the resource `fleet_gitrepo` does, while planning. " +
			"The commit it finds is the one a saved plan applies, even when the branch has moved on.",
		Attributes: attributes,
	}
}

type gitRepoDataModel struct {
	gitRepoModel

	Definitions types.Map `tfsdk:"definitions"`
}

func (d *gitRepoDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var data gitRepoDataModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &data)...)
	if resp.Diagnostics.HasError() || d.fleet == nil {
		return
	}
	data.Commit, data.Bundles = types.StringUnknown(), types.MapUnknown(bundleObjectType())
	d.fleet.settleGitRepo(ctx, &data.gitRepoModel, gitRepoModel{}, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	data.Definitions = d.definitions(ctx, data.Bundles, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &data)...)
}

func (d *gitRepoDataSource) definitions(ctx context.Context, bundles types.Map, diags *diag.Diagnostics) types.Map {
	definitions := map[string]attr.Value{}
	for name, element := range elementsOf(bundles) {
		made, err := d.fleet.source.Bundle(ctx, element.Descriptor.ValueString(), element.Digest.ValueString())
		if err != nil {
			diags.AddError("Cannot read bundle "+name, sentence(err))
			continue
		}
		text, err := definitionOf(made)
		if err != nil {
			diags.AddError("Cannot write the definition of bundle "+name, sentence(err))
			continue
		}
		definitions[name] = types.StringValue(text)
	}
	return types.MapValueMust(types.StringType, definitions)
}

// definitionOf writes a bundle as JSON in Fleet's field names.
func definitionOf(b *bundle.Bundle) (string, error) {
	resources := make(map[string]string, len(b.Files))
	for _, file := range b.Files {
		sum := sha256.Sum256(file.Content)
		resources[file.Name] = hex.EncodeToString(sum[:])
	}
	text, err := json.Marshal(struct {
		fleetyaml.Definition

		Name      string            `json:"name"`
		Resources map[string]string `json:"resources"`
	}{Definition: b.Definition, Name: b.Name, Resources: resources})
	if err != nil {
		return "", fmt.Errorf("writing %s as JSON: %w", b.Name, err)
	}
	return string(text), nil
}
