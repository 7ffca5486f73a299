// Package provider is the only room that knows Terraform: schemas, models,
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
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
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
				Validators: []validator.String{labelValue()},
			},
			"clusters": newClustersAttribute(schema.MapNestedAttribute{
				Optional: true,
				MarkdownDescription: "The clusters by name: how each is reached, and the facts that targeting and templates see. " +
					"The map, any entry and any value may be unknown while planning, for clusters made in the same apply.",
				Validators:   []validator.Map{mapvalidator.KeysAre(dnsLabel())},
				NestedObject: schema.NestedAttributeObject{Attributes: clusterAttributes()},
			}),
			"cluster_groups": schema.MapNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Groups of clusters by name, for rules and `targetCustomizations` that name a `clusterGroup`.",
				Validators:          []validator.Map{mapvalidator.KeysAre(dnsLabel())},
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"selector": schema.SingleNestedAttribute{
						Optional:            true,
						MarkdownDescription: "The clusters in the group, by their labels. An empty selector selects all. Required.",
						Attributes:          providerSelectorAttributes(),
						Validators:          []validator.Object{requiredValidator{}},
					},
					"labels": schema.MapAttribute{
						Optional: true, ElementType: types.StringType,
						MarkdownDescription: "Labels of the group, which `cluster_group_selector` looks at.",
					},
				}},
			},
			"git": schema.MapNestedAttribute{
				Optional: true,
				MarkdownDescription: "Credentials for git, by the beginning of the repository's URL. The longest one that fits is used; " +
					"credentials are sent nowhere else.",
				Validators:   []validator.Map{mapvalidator.KeysAre(gitPrefix())},
				NestedObject: schema.NestedAttributeObject{Attributes: gitAttributes()},
			},
			"registries": schema.MapNestedAttribute{
				Optional: true,
				MarkdownDescription: "Credentials for Helm repositories, OCI registries and archives, by the beginning of the URL, such as " +
					"`https://charts.example.com/` or `oci://ghcr.io/acme`. The longest one that fits is used; credentials are sent nowhere else.",
				NestedObject: schema.NestedAttributeObject{Attributes: registryAttributes()},
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
				Validators: []validator.String{duration()},
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
				Validators: []validator.String{stringvalidator.OneOf(errorMissing, forgetMissing)},
			},
			"cache_dir": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Folder for temporary files, and for commits that were fetched from git: they are kept there for a week after they were last read, so that a plan of an unchanged branch fetches nothing. Default: the system's temporary folder, and nothing is kept.",
			},
		},
	}
}

// The values of on_unreachable and on_missing.
const (
	keepUnreachable  = "keep"
	errorUnreachable = "error"
	errorMissing     = "error"
	forgetMissing    = "forget"
)

// providerText and providerSecret are optional attributes of the provider.
func providerText(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description}
}

func providerSecret(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: description}
}

func sopsKeys(description string) schema.ListAttribute {
	return schema.ListAttribute{Optional: true, Sensitive: true, ElementType: types.StringType, MarkdownDescription: description}
}

func clusterAttributes() map[string]schema.Attribute {
	texts := func(description string) schema.MapAttribute {
		return schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"host":                   providerText("Address of the API server, such as `https://10.0.0.1:6443`."),
		"cluster_ca_certificate": providerText("Certificate of the API server's authority, PEM."),
		"token":                  providerSecret("Bearer token."),
		"token_file":             providerText("File with a bearer token; read again when it changes."),
		"username":               providerText("User name for basic authentication."),
		"password":               providerSecret("Password for basic authentication."),
		"client_certificate":     providerText("Client certificate, PEM."),
		"client_key":             providerSecret("Key of the client certificate, PEM."),
		"exec": schema.SingleNestedAttribute{
			Optional:            true,
			MarkdownDescription: "A command that prints credentials, as in a kubeconfig.",
			Attributes: map[string]schema.Attribute{
				"api_version": schema.StringAttribute{Required: true, MarkdownDescription: "Version of the protocol, such as `client.authentication.k8s.io/v1`."},
				"command":     schema.StringAttribute{Required: true, MarkdownDescription: "The command."},
				"args":        schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Its arguments."},
				"env":         texts("Environment variables for it."),
			},
		},
		"kubeconfig":               providerSecret("Content of a kubeconfig file."),
		"config_path":              providerText("Path of a kubeconfig file; `~` is the home folder."),
		"config_paths":             schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Paths of kubeconfig files that are merged."},
		"config_context":           providerText("Context of the kubeconfig. Default: its current context."),
		"config_context_cluster":   providerText("Cluster of the kubeconfig, instead of the context's."),
		"config_context_auth_info": providerText("User of the kubeconfig, instead of the context's."),
		"proxy_url":                providerText("Proxy for connections to this cluster."),
		"tls_server_name":          providerText("Name expected in the API server's certificate."),
		"insecure":                 schema.BoolAttribute{Optional: true, MarkdownDescription: "Do not verify the API server's certificate."},
		"impersonate_user":         providerText("User to act as."),
		"qps":                      schema.Float64Attribute{Optional: true, MarkdownDescription: "Requests a second to this cluster. Default no limit: API servers protect themselves, and no more than 64 requests are ever on their way to one cluster."},
		"burst":                    schema.Int64Attribute{Optional: true, MarkdownDescription: "Requests at once before `qps` counts. Default 100; without `qps` it has no meaning."},
		"request_timeout":          schema.StringAttribute{Optional: true, MarkdownDescription: "Longest time for one request, such as `30s`, the default.", Validators: []validator.String{duration()}},

		"labels":          texts("Labels that selectors match and templates see."),
		"annotations":     texts("Annotations that templates see."),
		"template_values": schema.StringAttribute{Optional: true, MarkdownDescription: "What templates see as `.ClusterValues`: a map as YAML or JSON, for example by `jsonencode`."},
		"namespace":       providerText("Fleet's workspace namespace, which templates see. Default `fleet-default`."),
		"uid": providerText("UID of the cluster's namespace `kube-system`. Nothing is written to a cluster that has another one. " +
			"Without it the first apply of a target on the cluster takes the cluster that the connection leads to; later ones compare it with the state."),
		"display_name": providerText("A second name by which rules can name the cluster."),
		"paused":       schema.BoolAttribute{Optional: true, MarkdownDescription: "Hold everything back on this cluster: changes are planned as held, and what is there stays as it is."},
	}
}

func gitAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"username":        providerText("User name."),
		"password":        providerSecret("Password."),
		"token":           providerSecret("Access token, sent as password."),
		"ssh_private_key": providerSecret("Private key for ssh, PEM."),
		"ssh_passphrase":  providerSecret("Passphrase of the private key."),
		"known_hosts":     providerText("Host keys of the ssh server, in the format of a known_hosts file."),
		"ca_bundle":       providerText("Certificates of the server's authority, PEM."),
		"insecure":        schema.BoolAttribute{Optional: true, MarkdownDescription: "Do not verify the server's certificate."},
		"github_app": schema.SingleNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Sign in as an installation of a GitHub App, instead of as a user.",
			Attributes: map[string]schema.Attribute{
				"id":              schema.StringAttribute{Required: true, MarkdownDescription: "Id or client id of the app."},
				"installation_id": schema.Int64Attribute{Required: true, MarkdownDescription: "Id of its installation."},
				"private_key":     schema.StringAttribute{Required: true, Sensitive: true, MarkdownDescription: "Private key of the app, PEM."},
				"api_url":         providerText("Address of the API. Default: `https://api.github.com`, and `/api/v3` of the host for other hosts than github.com."),
			},
		},
	}
}

func registryAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"username":   providerText("User name."),
		"password":   providerSecret("Password."),
		"token":      providerSecret("Bearer token, instead of user name and password."),
		"ca_bundle":  providerText("Certificates of the server's authority, PEM."),
		"insecure":   schema.BoolAttribute{Optional: true, MarkdownDescription: "Do not verify the server's certificate."},
		"plain_http": schema.BoolAttribute{Optional: true, MarkdownDescription: "Speak HTTP to an OCI registry."},
	}
}

func providerSelectorAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"match_labels": schema.MapAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Labels with exactly these values.",
		},
		"match_expressions": schema.ListNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Conditions on labels, all of which must hold.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"key":      schema.StringAttribute{Optional: true, MarkdownDescription: "The label. Required.", Validators: []validator.String{required()}},
				"operator": schema.StringAttribute{Optional: true, MarkdownDescription: "`In`, `NotIn`, `Exists` or `DoesNotExist`. Required.", Validators: []validator.String{required()}},
				"values":   schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "The values for `In` and `NotIn`."},
			}},
		},
	}
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
