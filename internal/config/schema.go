package config

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetschema"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// Schema is the schema of the provider block.
func Schema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Runs Rancher Fleet's model - GitRepo, Bundle, Target, Cluster - from Terraform itself: " +
			"one provider block for any number of clusters, one Helm release per bundle and cluster, no controller and no agent.",
		Attributes: map[string]schema.Attribute{
			"owner": schema.StringAttribute{
				Required: true,
				MarkdownDescription: "The owner of the releases. Terraform workspaces that share a cluster need different owners. " +
					"A release of another owner is neither changed nor removed, unless the target has `take_ownership = true`.",
				Validators: []validator.String{framework.LabelValue()},
			},
			"engine": engineAttribute(),
			"clusters": framework.NewMapNested(schema.MapNestedAttribute{
				Optional: true,
				MarkdownDescription: "The clusters by name: the connection of each cluster, and the facts for targeting and templates. " +
					"The map, any entry and any value may be unknown while planning, for clusters created in the same apply.",
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
						MarkdownDescription: "The clusters in the group, by their labels. Required.",
						Attributes:          framework.Provider(fleetschema.Selector()),
						Validators:          append(fleetschema.SelectorObject("").Validators, framework.Required{}),
					},
					"labels": schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Labels of the group, for `cluster_group_selector`."},
				}},
			},
			"git": schema.MapNestedAttribute{
				Optional: true,
				MarkdownDescription: "Credentials for git, by the beginning of the repository's URL. The longest matching key is used; " +
					"credentials are sent nowhere else. They are used for a repository that another repository names only if its `sources` allow it.",
				Validators:   []validator.Map{mapvalidator.KeysAre(gitPrefix())},
				NestedObject: schema.NestedAttributeObject{Attributes: framework.Provider(gitAttributes())},
			},
			"registries": schema.MapNestedAttribute{
				Optional: true,
				MarkdownDescription: "Credentials for Helm repositories, OCI registries and archives, by the beginning of the URL, such as " +
					"`https://charts.example.com/` or `oci://ghcr.io/acme`. The longest matching key is used; credentials are sent nowhere else.",
				NestedObject: schema.NestedAttributeObject{Attributes: framework.Provider(registryAttributes())},
			},
			"tls": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "Certificates of authorities for all servers that git repositories and charts are read from, and for proxies. " +
					"`ca_bundle` of an entry in `git` or `registries` is trusted besides. API servers of clusters have their own settings.",
				Attributes: framework.Provider(tlsAttributes()),
				Validators: []validator.Object{framework.Options{}},
			},
			"private_addresses": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether repositories and charts may name servers with private addresses. Default `true`, because servers of companies have such addresses. " +
					"With `false`, a server needs an entry in `git`, `registries` or `sources`. Servers of the runner itself and of its link always need one. See the guide on security.",
			},
			"sops": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "Keys for files encrypted by [SOPS](https://github.com/getsops/sops): values files named in `helm.valuesFiles`, and manifests. " +
					"They are decrypted in memory only. No other keys are used: no environment variable, no file of the home folder, no gpg, no cloud service. " +
					"An encrypted file that no key decrypts is an error. See the guide on security.",
				Validators: []validator.Object{framework.Options{}},
				Attributes: map[string]schema.Attribute{
					"age_keys": sopsKeys("age identities, such as `AGE-SECRET-KEY-1...`, or the content of identity files."),
					"pgp_keys": sopsKeys("OpenPGP private keys without a passphrase, armored, as `gpg --export-secret-keys --armor` writes them."),
				},
			},
			"parallelism": schema.Int64Attribute{
				Optional: true,
				MarkdownDescription: "How many operations on clusters run at the same time, over all resources. Default 16. A deployment that only waits until its " +
					"objects are ready lets another deployment start, up to four for each operation except the first.",
				Validators: []validator.Int64{int64validator.AtLeast(1)},
			},
			"render_timeout": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "How much CPU time the templates, patches and kustomization of one deployment may use, such as `30s`. Default `1m`. By the clock, they may take ten times as long. They run in processes " +
					"without access to files, network or credentials; the guide on security names their limits. All renderings that fail may take ten times " +
					"the CPU time together. After that, a plan or apply begins no other rendering. The time of renderings that succeed does not count.",
				Validators: []validator.String{framework.Duration()},
			},
			"on_unreachable": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "What a refresh does when a cluster does not respond: `keep` (default) keeps the last known state of its " +
					"deployments and warns, `error` fails. Neither treats a cluster that does not respond as empty.",
				Validators: []validator.String{stringvalidator.OneOf(KeepUnreachable, ErrorUnreachable)},
			},
			"on_missing": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "What happens to deployments on a cluster that was removed from `clusters` if they cannot be uninstalled. Either its connection contained a secret or arguments of a command, " +
					"which are never stored, or the cluster does not respond any more. `error` (default): with such a connection the plan fails, and with such a cluster the apply, until the entry is restored for one apply. " +
					"`forget`: they are removed from the state and stay on the cluster.",
				Validators: []validator.String{stringvalidator.OneOf(string(deploy.MissingIsError), string(deploy.ForgetMissing))},
			},
			"policies":         policiesAttribute(),
			"fleet_policies":   fleetPoliciesAttribute(),
			"windows":          windowsAttribute(),
			"fleet_schedules":  schedulesAttribute(),
			"windows_override": windowsOverrideAttribute(),
			"cache_dir": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Folder for temporary files, and for commits that were fetched from git. Commits are kept for a week after they were last read, so a plan of an unchanged branch fetches nothing. Default: the system's temporary folder, and nothing is kept.",
			},
		},
	}
}

// The values of on_unreachable.
const (
	KeepUnreachable  = "keep"
	ErrorUnreachable = "error"
)

func sopsKeys(description string) schema.ListAttribute {
	return schema.ListAttribute{Optional: true, Sensitive: true, ElementType: types.StringType, MarkdownDescription: description}
}

// gitPrefix accepts the beginning of the URL of a git repository.
func gitPrefix() validator.String {
	const description = "must be the beginning of the URL of a git repository, such as https://github.com/acme"
	return framework.Text(description, "Credentials that cover no repository", func(text string) string {
		if _, err := git.ScopeOf(text); err != nil {
			return report.Sentence(err) + "\n\nA key of git " + description + "."
		}
		return ""
	})
}
