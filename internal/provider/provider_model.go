package provider

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/cluster"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/engine"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

const defaultParallelism = 16

type providerModel struct {
	Owner         types.String `tfsdk:"owner"`
	Engine        types.Object `tfsdk:"engine"`
	Clusters      types.Map    `tfsdk:"clusters"`
	ClusterGroups types.Map    `tfsdk:"cluster_groups"`
	Git           types.Map    `tfsdk:"git"`
	Registries    types.Map    `tfsdk:"registries"`
	TLS           types.Object `tfsdk:"tls"`
	SOPS          types.Object `tfsdk:"sops"`
	Parallelism   types.Int64  `tfsdk:"parallelism"`
	RenderTimeout types.String `tfsdk:"render_timeout"`
	OnUnreachable types.String `tfsdk:"on_unreachable"`
	OnMissing     types.String `tfsdk:"on_missing"`
	CacheDir      types.String `tfsdk:"cache_dir"`
	Policies      types.Map    `tfsdk:"policies"`
	FleetPolicies types.List   `tfsdk:"fleet_policies"`

	Windows         types.Map    `tfsdk:"windows"`
	Schedules       types.List   `tfsdk:"fleet_schedules"`
	WindowsOverride types.String `tfsdk:"windows_override"`
}

// clusterModel is an entry of clusters in plain values.
type clusterModel struct {
	connectionModel
	factsModel

	UID         string   `tfsdk:"uid"`
	KubeVersion *string  `tfsdk:"kube_version"`
	APIVersions []string `tfsdk:"api_versions"`
	Paused      bool     `tfsdk:"paused"`
}

// connectionModel is how a cluster is reached.
type connectionModel struct {
	Host                  string     `tfsdk:"host"`
	ClusterCACertificate  string     `tfsdk:"cluster_ca_certificate"`
	Token                 string     `tfsdk:"token"`
	TokenFile             string     `tfsdk:"token_file"`
	Username              string     `tfsdk:"username"`
	Password              string     `tfsdk:"password"`
	ClientCertificate     string     `tfsdk:"client_certificate"`
	ClientKey             string     `tfsdk:"client_key"`
	Exec                  *execModel `tfsdk:"exec"`
	Kubeconfig            string     `tfsdk:"kubeconfig"`
	ConfigPath            string     `tfsdk:"config_path"`
	ConfigPaths           []string   `tfsdk:"config_paths"`
	ConfigContext         string     `tfsdk:"config_context"`
	ConfigContextCluster  string     `tfsdk:"config_context_cluster"`
	ConfigContextAuthInfo string     `tfsdk:"config_context_auth_info"`
	ProxyURL              string     `tfsdk:"proxy_url"`
	TLSServerName         string     `tfsdk:"tls_server_name"`
	Insecure              bool       `tfsdk:"insecure"`
	ImpersonateUser       string     `tfsdk:"impersonate_user"`
	QPS                   float64    `tfsdk:"qps"`
	Burst                 int64      `tfsdk:"burst"`
	RequestTimeout        string     `tfsdk:"request_timeout"`
}

// factsModel is what targeting and templates see of a cluster.
type factsModel struct {
	Labels         map[string]string `tfsdk:"labels"`
	Annotations    map[string]string `tfsdk:"annotations"`
	TemplateValues string            `tfsdk:"template_values"`
	Namespace      string            `tfsdk:"namespace"`
	DisplayName    string            `tfsdk:"display_name"`
}

type execModel struct {
	APIVersion string            `tfsdk:"api_version"`
	Command    string            `tfsdk:"command"`
	Args       []string          `tfsdk:"args"`
	Env        map[string]string `tfsdk:"env"`
}

type groupModel struct {
	Selector types.Object `tfsdk:"selector"`
	Labels   types.Map    `tfsdk:"labels"`
}

type gitModel struct {
	Username      string          `tfsdk:"username"`
	Password      string          `tfsdk:"password"`
	Token         string          `tfsdk:"token"`
	SSHPrivateKey string          `tfsdk:"ssh_private_key"`
	SSHPassphrase string          `tfsdk:"ssh_passphrase"`
	KnownHosts    string          `tfsdk:"known_hosts"`
	CABundle      string          `tfsdk:"ca_bundle"`
	Insecure      bool            `tfsdk:"insecure"`
	GitHubApp     *gitHubAppModel `tfsdk:"github_app"`
}

type gitHubAppModel struct {
	ID             string `tfsdk:"id"`
	InstallationID int64  `tfsdk:"installation_id"`
	PrivateKey     string `tfsdk:"private_key"`
	APIURL         string `tfsdk:"api_url"`
}

type registryModel struct {
	Username  string `tfsdk:"username"`
	Password  string `tfsdk:"password"`
	Token     string `tfsdk:"token"`
	CABundle  string `tfsdk:"ca_bundle"`
	Insecure  bool   `tfsdk:"insecure"`
	PlainHTTP bool   `tfsdk:"plain_http"`

	Exec *helperModel `tfsdk:"exec"`
}

type helperModel struct {
	Command string            `tfsdk:"command"`
	Args    []string          `tfsdk:"args"`
	Env     map[string]string `tfsdk:"env"`
}

type tlsModel struct {
	CABundle    string `tfsdk:"ca_bundle"`
	SystemRoots *bool  `tfsdk:"system_roots"`
}

type sopsModel struct {
	AgeKeys []string `tfsdk:"age_keys"`
	PGPKeys []string `tfsdk:"pgp_keys"`
}

// fleet makes what the configured provider works with. masker is given all credentials.
func (m providerModel) fleet(ctx context.Context, masker *diff.Masker) (*providerData, diag.Diagnostics) {
	var diags diag.Diagnostics
	plain := m.settings(ctx, &diags)
	plain.addSecrets(masker)
	if diags.HasError() {
		return nil, diags
	}
	configured, err := newProviderData(plain, masker)
	if wrong, ok := errors.AsType[*sops.KeyError](err); ok {
		addMessages(&diags, report.InvalidSOPSKey(wrong.Kind+"_keys", wrong.Index, err))
		return configured, diags
	}
	if err != nil {
		addMessages(&diags, report.InvalidSetting("registries", "Invalid registries", err))
	}
	return configured, diags
}

// settings leaves Terraform: it turns the configuration into plain values and keeps track of
// what is unknown. It dials nothing.
func (m providerModel) settings(ctx context.Context, diags *diag.Diagnostics) settings {
	// The schema has checked the form.
	renderTimeout, _ := time.ParseDuration(m.RenderTimeout.ValueString())
	plain := settings{
		owner: m.Owner.ValueString(), ownerUnknown: m.Owner.IsUnknown(),
		parallelism:   int(cmp.Or(max(0, m.Parallelism.ValueInt64()), defaultParallelism)),
		onUnreachable: cmp.Or(m.OnUnreachable.ValueString(), keepUnreachable),
		onMissing:     deploy.OnMissing(cmp.Or(m.OnMissing.ValueString(), string(deploy.MissingIsError))),
		cacheDir:      m.CacheDir.ValueString(),
		renderTimeout: renderTimeout,

		entries: map[string]cluster.Entry{}, clustersUnknown: m.Clusters.IsUnknown(),
		groupsUnknown:      framework.IsUnknownInside(ctx, m.ClusterGroups),
		credentialsUnknown: m.Git.IsUnknown(), registriesUnknown: m.Registries.IsUnknown(),
		credentials: framework.Entries(ctx, m.Git, git.Credentials{Unknown: true}, gitModel.credentials, diags),
		registries:  framework.Entries(ctx, m.Registries, chart.Registry{Unknown: true}, registryModel.registry, diags),
		keys:        keysOf(ctx, m.SOPS, diags),
		management:  managementOf(ctx, m.Engine, diags),
	}
	plain = plain.withTrust(ctx, m.TLS, diags)
	if m.OnMissing.IsUnknown() {
		plain.onMissing = deploy.OnMissingUnknown
	}
	for name, entry := range m.Clusters.Elements() {
		plain.entries[name] = clusterEntry(ctx, name, entry, diags)
	}
	plain.windows = m.changeWindows(ctx, plain.hasEngine(), diags)
	if !plain.groupsUnknown {
		plain.groups = groupsOf(ctx, m.ClusterGroups, diags)
	}
	policies, known := policiesOf(ctx, m.Policies, m.FleetPolicies, diags)
	plain.policies, plain.policiesUnknown = policies, !known
	if plain.hasEngine() && len(plain.groups) > 0 && len(plain.entries) == 0 && !plain.clustersUnknown {
		addMessages(diags, report.GroupsWithEngine(engine.Refusal("provider", "cluster_groups")))
	}
	return plain
}

// clusterEntry reads one entry of clusters.
func clusterEntry(ctx context.Context, name string, value attr.Value, diags *diag.Diagnostics) cluster.Entry {
	if value.IsUnknown() {
		return cluster.Entry{ConnectionUnknown: true, FactsUnknown: true}
	}
	if value.IsNull() {
		addMessages(diags, report.NullCluster(name))
		return cluster.Entry{}
	}
	var (
		entry cluster.Entry
		model clusterModel
		wrong diag.Diagnostics
	)
	value, entry.UnknownLabels = withoutUnknownLabels(ctx, value)
	entry.FactsUnknown, entry.ConnectionUnknown = unknownParts(ctx, value)
	framework.AsPlain(ctx, value, &model, &wrong)
	diags.Append(wrong...)
	if wrong.HasError() {
		return entry
	}
	entry.UID = model.UID
	if !entry.FactsUnknown {
		entry.Facts = model.facts(name, diags)
		entry.Facts.Paused, entry.Facts.Capabilities = model.Paused, model.capabilities(name, diags)
	}
	if !entry.ConnectionUnknown {
		entry.Connection = model.connection()
		if err := entry.Connection.Validate(); err != nil {
			addMessages(diags, report.InvalidConnection(name, err))
		}
	}
	return entry
}

// withoutUnknownLabels takes labels with unknown values out of an entry of clusters, and returns their keys.
func withoutUnknownLabels(ctx context.Context, value attr.Value) (known attr.Value, unknown []string) {
	object, isObject := value.(types.Object)
	if !isObject {
		return value, nil
	}
	attributes := object.Attributes()
	labels, isMap := attributes["labels"].(types.Map)
	if !isMap || labels.IsNull() || labels.IsUnknown() {
		return value, nil
	}
	elements := labels.Elements()
	for key, element := range elements {
		if element.IsUnknown() {
			unknown = append(unknown, key)
			delete(elements, key)
		}
	}
	if len(unknown) == 0 {
		return value, nil
	}
	slices.Sort(unknown)
	attributes["labels"] = types.MapValueMust(types.StringType, elements)
	return types.ObjectValueMust(object.AttributeTypes(ctx), attributes), unknown
}

// unknownParts says what of an entry of clusters is unknown: what targeting and templates see,
// and everything else, which leads to the cluster.
func unknownParts(ctx context.Context, value attr.Value) (facts, connection bool) {
	object, _ := value.(types.Object)
	for name, attribute := range object.Attributes() {
		if !framework.IsUnknownInside(ctx, attribute) {
			continue
		}
		switch name {
		case "labels", "annotations", "template_values", "namespace", "display_name", "kube_version", "api_versions", "paused":
			facts = true
		default:
			connection = true
		}
	}
	return facts, connection
}

func (m connectionModel) connection() kube.Connection {
	connection := kube.Connection{
		Host: m.Host, ClusterCACertificate: m.ClusterCACertificate, TLSServerName: m.TLSServerName, Insecure: m.Insecure, ProxyURL: m.ProxyURL,
		Token: m.Token, TokenFile: m.TokenFile, Username: m.Username, Password: m.Password,
		ClientCertificate: m.ClientCertificate, ClientKey: m.ClientKey, ImpersonateUser: m.ImpersonateUser,
		Kubeconfig: m.Kubeconfig, ConfigPaths: m.ConfigPaths, ConfigContext: m.ConfigContext,
		ConfigContextCluster: m.ConfigContextCluster, ConfigContextAuthInfo: m.ConfigContextAuthInfo,
		QPS: float32(m.QPS), Burst: int(m.Burst),
	}
	if m.ConfigPath != "" {
		connection.ConfigPaths = append([]string{m.ConfigPath}, connection.ConfigPaths...)
	}
	if m.RequestTimeout != "" {
		// The schema has checked the form.
		connection.RequestTimeout, _ = time.ParseDuration(m.RequestTimeout)
	}
	if m.Exec != nil {
		connection.Exec = &kube.Exec{APIVersion: m.Exec.APIVersion, Command: m.Exec.Command, Args: m.Exec.Args, Env: m.Exec.Env}
	}
	return connection
}

// capabilities are those that the configuration sets, nil if it sets none.
func (m clusterModel) capabilities(name string, diags *diag.Diagnostics) *target.Capabilities {
	if m.KubeVersion == nil {
		if m.APIVersions != nil {
			addMessages(diags, report.APIVersionsAlone(name))
		}
		return nil
	}
	fixed, err := render.FixedCapabilities(*m.KubeVersion, m.APIVersions)
	if err != nil {
		addMessages(diags, report.InvalidKubeVersion(name, err))
	}
	return &fixed
}

func (m factsModel) facts(name string, diags *diag.Diagnostics) target.Cluster {
	facts := target.Cluster{
		Name: name, Namespace: cmp.Or(m.Namespace, target.DefaultNamespace), DisplayName: m.DisplayName,
		Labels: m.Labels, Annotations: m.Annotations,
	}
	if m.TemplateValues != "" {
		if err := yaml.Unmarshal([]byte(m.TemplateValues), &facts.TemplateValues); err != nil {
			addMessages(diags, report.InvalidTemplateValues(name, err))
		}
	}
	return facts
}

func groupsOf(ctx context.Context, groups types.Map, diags *diag.Diagnostics) []target.Group {
	var found []target.Group
	for name, value := range groups.Elements() {
		var model groupModel
		diags.Append(framework.As(ctx, value, &model)...)
		selector := selectorOf(ctx, model.Selector, diags)
		if selector == nil {
			selector = &fleetyaml.Selector{}
		}
		found = append(found, target.Group{Name: name, Selector: *selector, Labels: framework.StringMap(ctx, model.Labels, diags)})
	}
	return found
}

func (m gitModel) credentials() git.Credentials {
	return git.Credentials{
		Username: m.Username, Password: m.Password, Token: m.Token, GitHubApp: (*git.App)(m.GitHubApp),
		SSHPrivateKey: m.SSHPrivateKey, SSHPassphrase: m.SSHPassphrase, KnownHosts: m.KnownHosts,
		CABundle: m.CABundle, InsecureSkipTLSVerify: m.Insecure,
	}
}

func (m registryModel) registry() chart.Registry {
	return chart.Registry{
		Username: m.Username, Password: m.Password, Token: m.Token, Helper: m.Exec.helper(),
		CABundle: []byte(m.CABundle), Insecure: m.Insecure, PlainHTTP: m.PlainHTTP,
	}
}

func (m *helperModel) helper() *chart.CredentialHelper {
	if m == nil {
		return nil
	}
	helper := &chart.CredentialHelper{Command: m.Command, Args: m.Args}
	for _, name := range slices.Sorted(maps.Keys(m.Env)) {
		helper.Env = append(helper.Env, name+"="+m.Env[name])
	}
	return helper
}

// withTrust reads which certificates count. As long as that is unknown, no server can be read.
func (s settings) withTrust(ctx context.Context, value types.Object, diags *diag.Diagnostics) settings {
	if framework.IsUnknownInside(ctx, value) {
		s.credentialsUnknown, s.registriesUnknown = true, true
		for prefix := range s.credentials {
			s.credentials[prefix] = git.Credentials{Unknown: true}
		}
		for prefix := range s.registries {
			s.registries[prefix] = chart.Registry{Unknown: true}
		}
		return s
	}
	var m tlsModel
	if !value.IsNull() {
		framework.AsPlain(ctx, value, &m, diags)
	}
	s.trust = fetch.Trust{CABundle: m.CABundle, WithoutSystemRoots: m.SystemRoots != nil && !*m.SystemRoots}
	if err := s.trust.Check(); err != nil {
		addMessages(diags, report.InvalidSetting("tls", "Invalid tls", err))
	}
	return s
}

func keysOf(ctx context.Context, value types.Object, diags *diag.Diagnostics) sops.Keys {
	if framework.IsUnknownInside(ctx, value) {
		return sops.Keys{Unknown: true}
	}
	var m sopsModel
	if !value.IsNull() {
		framework.AsPlain(ctx, value, &m, diags)
	}
	return sops.Keys{Age: m.AgeKeys, PGP: m.PGPKeys}
}
