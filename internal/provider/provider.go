// Package provider speaks Terraform: schemas, models,
// diagnostics and the wiring of all other rooms.
package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"k8s.io/klog/v2"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/protocol"
)

// typeName starts the name of every resource.
const typeName = "fleet"

var _ provider.ProviderWithFunctions = (*fleetProvider)(nil)

type fleetProvider struct {
	version string
	cleanup *Cleanup
	// masker hides the credentials of the provider.
	masker *diff.Masker
}

// Server makes servers of the provider as the given version of it. A server
// masks every diagnostic before Terraform or a log gets it. The caller runs cleanup in the
// end, which removes what a server leaves behind.
func Server(version string, cleanup *Cleanup) func() tfprotov6.ProviderServer {
	return func() tfprotov6.ProviderServer {
		made := newProvider(version, cleanup)
		return protocol.Masked(providerserver.NewProtocol6(made)(), made.masker)
	}
}

// SilenceClients keeps client-go from writing what servers say to standard error, where
// nobody masks it. It sets the logger of the process, so main calls it before all else.
func SilenceClients() { klog.SetLogger(klog.Logger{}) }

// New makes the provider as the given version of it. What it leaves behind is
// undone by cleanup, which the caller runs in the end.
func New(version string, cleanup *Cleanup) func() provider.Provider {
	return func() provider.Provider { return newProvider(version, cleanup) }
}

func newProvider(version string, cleanup *Cleanup) *fleetProvider {
	return &fleetProvider{version: version, cleanup: cleanup, masker: &diff.Masker{}}
}

func (p *fleetProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = typeName
	resp.Version = p.version
}

func (p *fleetProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Runs Rancher Fleet's model - GitRepo, Bundle, Target, Cluster - from Terraform itself: " +
			"one provider block for any number of clusters, one Helm release per bundle and cluster, no controller and no agent.",
		Attributes: map[string]schema.Attribute{
			"owner": schema.StringAttribute{
				Required: true,
				MarkdownDescription: "Who owns the releases. Terraform workspaces that share a cluster need different owners; " +
					"a release of another owner is neither changed nor removed, unless the target has `take_ownership = true`.",
				Validators: []validator.String{framework.LabelValue()},
			},
			"clusters": framework.NewMapNested(schema.MapNestedAttribute{
				Optional: true,
				MarkdownDescription: "The clusters by name: how each is reached, and the facts that targeting and templates see. " +
					"The map, any entry and any value may be unknown while planning, for clusters made in the same apply.",
				Validators:   []validator.Map{mapvalidator.KeysAre(framework.DNSLabel())},
				NestedObject: schema.NestedAttributeObject{Attributes: framework.Provider(clusterAttributes())},
			}),
			"cluster_groups": schema.MapNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Groups of clusters by name, for rules and `targetCustomizations` that name a `clusterGroup`.",
				Validators:          []validator.Map{mapvalidator.KeysAre(framework.DNSLabel())},
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"selector": schema.SingleNestedAttribute{
						Optional:            true,
						MarkdownDescription: "The clusters in the group, by their labels. An empty selector selects all. Required.",
						Attributes:          framework.Provider(selectorAttributes()),
						Validators:          []validator.Object{framework.Required{}},
					},
					"labels": schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Labels of the group, which `cluster_group_selector` looks at."},
				}},
			},
			"git": schema.MapNestedAttribute{
				Optional: true,
				MarkdownDescription: "Credentials for git, by the beginning of the repository's URL. The longest one that fits is used; " +
					"credentials are sent nowhere else.",
				Validators:   []validator.Map{mapvalidator.KeysAre(gitPrefix())},
				NestedObject: schema.NestedAttributeObject{Attributes: framework.Provider(gitAttributes())},
			},
			"registries": schema.MapNestedAttribute{
				Optional: true,
				MarkdownDescription: "Credentials for Helm repositories, OCI registries and archives, by the beginning of the URL, such as " +
					"`https://charts.example.com/` or `oci://ghcr.io/acme`. The longest one that fits is used; credentials are sent nowhere else.",
				NestedObject: schema.NestedAttributeObject{Attributes: framework.Provider(registryAttributes())},
			},
			"sops": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "Keys for files that [SOPS](https://github.com/getsops/sops) has encrypted: values files named in `helm.valuesFiles`, and manifests. " +
					"They are decrypted in memory only. No other keys are used: no environment variable, no file of the home folder, no gpg, no service of a cloud. " +
					"An encrypted file that no key decrypts is an error. See the guide on security.",
				Attributes: map[string]schema.Attribute{
					"age_keys": sopsKeys("age identities, such as `AGE-SECRET-KEY-1...`, or files of them as a whole."),
					"pgp_keys": sopsKeys("OpenPGP private keys without a passphrase, armored, as `gpg --export-secret-keys --armor` writes them."),
				},
			},
			"parallelism": schema.Int64Attribute{
				Optional: true,
				MarkdownDescription: "How many operations on clusters run at once, over all resources. Default 16. A deployment that only waits until its " +
					"objects are ready makes room for another, up to four for each operation but the first.",
				Validators: []validator.Int64{int64validator.AtLeast(1)},
			},
			"render_timeout": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "How long the templates of one deployment may run, such as `30s`. Default `1m`. Templates run in processes that have no access " +
					"to files, network or credentials; the guide on security names their limits.",
				Validators: []validator.String{framework.Duration()},
			},
			"on_unreachable": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "What a refresh does when a cluster does not answer: `keep` (default) keeps what is known of its " +
					"deployments and warns, `error` fails. Neither ever takes a cluster that does not answer for an empty one.",
				Validators: []validator.String{stringvalidator.OneOf(keepUnreachable, errorUnreachable)},
			},
			"on_missing": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "What happens to deployments on a cluster that `clusters` no longer holds and that cannot be cleaned up, because its connection held a secret or arguments of a command, " +
					"which is never kept, or because it does not answer any more: `error` (default) asks for the entry back for one apply; " +
					"`forget` drops them from state and leaves them on the cluster.",
				Validators: []validator.String{stringvalidator.OneOf(string(deploy.MissingIsError), string(deploy.ForgetMissing))},
			},
			"cache_dir": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Folder for temporary files, and for commits that were fetched from git: they are kept there for a week after they were last read, so that a plan of an unchanged branch fetches nothing. Default: the system's temporary folder, and nothing is kept.",
			},
		},
	}
}

// The values of on_unreachable.
const (
	keepUnreachable  = "keep"
	errorUnreachable = "error"
)

func sopsKeys(description string) schema.ListAttribute {
	return schema.ListAttribute{Optional: true, Sensitive: true, ElementType: types.StringType, MarkdownDescription: description}
}

func (p *fleetProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var model providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	configured, diags := model.fleet(ctx, p.masker)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	p.cleanup.add(configured.git.Close)
	p.cleanup.add(configured.fetcher.Close)
	p.cleanup.add(configured.public.Close)
	p.cleanup.add(configured.sandbox.Close)
	resp.ResourceData = configured
	resp.DataSourceData = configured
}

func (p *fleetProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{newGitRepoResource, newBundleResource, newTargetResource}
}

func (p *fleetProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{newGitRepoDataSource, newRenderDataSource, newDeploymentsDataSource}
}

func (p *fleetProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{newMatchFunction, newMergeValuesFunction, newParseFleetYAMLFunction, newReleaseNameFunction}
}
