package provider

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

const defaultParallelism = 16

type providerModel struct {
	Owner         types.String `tfsdk:"owner"`
	Clusters      types.Map    `tfsdk:"clusters"`
	ClusterGroups types.Map    `tfsdk:"cluster_groups"`
	Git           types.Map    `tfsdk:"git"`
	Registries    types.Map    `tfsdk:"registries"`
	SOPS          types.Object `tfsdk:"sops"`
	Parallelism   types.Int64  `tfsdk:"parallelism"`
	RenderTimeout types.String `tfsdk:"render_timeout"`
	OnUnreachable types.String `tfsdk:"on_unreachable"`
	OnMissing     types.String `tfsdk:"on_missing"`
	CacheDir      types.String `tfsdk:"cache_dir"`
}

type clusterModel struct {
	Host                  types.String  `tfsdk:"host"`
	ClusterCACertificate  types.String  `tfsdk:"cluster_ca_certificate"`
	Token                 types.String  `tfsdk:"token"`
	TokenFile             types.String  `tfsdk:"token_file"`
	Username              types.String  `tfsdk:"username"`
	Password              types.String  `tfsdk:"password"`
	ClientCertificate     types.String  `tfsdk:"client_certificate"`
	ClientKey             types.String  `tfsdk:"client_key"`
	Exec                  types.Object  `tfsdk:"exec"`
	Kubeconfig            types.String  `tfsdk:"kubeconfig"`
	ConfigPath            types.String  `tfsdk:"config_path"`
	ConfigPaths           types.List    `tfsdk:"config_paths"`
	ConfigContext         types.String  `tfsdk:"config_context"`
	ConfigContextCluster  types.String  `tfsdk:"config_context_cluster"`
	ConfigContextAuthInfo types.String  `tfsdk:"config_context_auth_info"`
	ProxyURL              types.String  `tfsdk:"proxy_url"`
	TLSServerName         types.String  `tfsdk:"tls_server_name"`
	Insecure              types.Bool    `tfsdk:"insecure"`
	ImpersonateUser       types.String  `tfsdk:"impersonate_user"`
	QPS                   types.Float64 `tfsdk:"qps"`
	Burst                 types.Int64   `tfsdk:"burst"`
	RequestTimeout        types.String  `tfsdk:"request_timeout"`

	Labels         types.Map    `tfsdk:"labels"`
	Annotations    types.Map    `tfsdk:"annotations"`
	TemplateValues types.String `tfsdk:"template_values"`
	Namespace      types.String `tfsdk:"namespace"`
	UID            types.String `tfsdk:"uid"`
	DisplayName    types.String `tfsdk:"display_name"`
	Paused         types.Bool   `tfsdk:"paused"`
}

type execModel struct {
	APIVersion types.String `tfsdk:"api_version"`
	Command    types.String `tfsdk:"command"`
	Args       types.List   `tfsdk:"args"`
	Env        types.Map    `tfsdk:"env"`
}

type groupModel struct {
	Selector types.Object `tfsdk:"selector"`
	Labels   types.Map    `tfsdk:"labels"`
}

type gitModel struct {
	Username      types.String `tfsdk:"username"`
	Password      types.String `tfsdk:"password"`
	Token         types.String `tfsdk:"token"`
	SSHPrivateKey types.String `tfsdk:"ssh_private_key"`
	SSHPassphrase types.String `tfsdk:"ssh_passphrase"`
	KnownHosts    types.String `tfsdk:"known_hosts"`
	CABundle      types.String `tfsdk:"ca_bundle"`
	Insecure      types.Bool   `tfsdk:"insecure"`
	GitHubApp     types.Object `tfsdk:"github_app"`
}

type gitHubAppModel struct {
	ID             types.String `tfsdk:"id"`
	InstallationID types.Int64  `tfsdk:"installation_id"`
	PrivateKey     types.String `tfsdk:"private_key"`
	APIURL         types.String `tfsdk:"api_url"`
}

type registryModel struct {
	Username  types.String `tfsdk:"username"`
	Password  types.String `tfsdk:"password"`
	Token     types.String `tfsdk:"token"`
	CABundle  types.String `tfsdk:"ca_bundle"`
	Insecure  types.Bool   `tfsdk:"insecure"`
	PlainHTTP types.Bool   `tfsdk:"plain_http"`
}

type sopsModel struct {
	AgeKeys types.List `tfsdk:"age_keys"`
	PGPKeys types.List `tfsdk:"pgp_keys"`
}

// fleet leaves Terraform: it turns the configuration into plain settings and
// keeps track of what is unknown. It dials nothing. masker is given all credentials.
func (m providerModel) fleet(ctx context.Context, masker *diff.Masker) (*fleet, diag.Diagnostics) {
	var diags diag.Diagnostics
	plain := settings{
		owner:           m.Owner.ValueString(),
		ownerUnknown:    m.Owner.IsUnknown(),
		parallelism:     defaultParallelism,
		onUnreachable:   keepUnreachable,
		onMissing:       errorMissing,
		cacheDir:        m.CacheDir.ValueString(),
		clusters:        map[string]*member{},
		clustersUnknown: m.Clusters.IsUnknown(),
	}
	if set := m.Parallelism.ValueInt64(); set > 0 {
		plain.parallelism = int(set)
	}
	if set := m.RenderTimeout.ValueString(); set != "" {
		// The schema has checked the form.
		plain.renderTimeout, _ = time.ParseDuration(set)
	}
	if set := m.OnUnreachable.ValueString(); set != "" {
		plain.onUnreachable = set
	}
	if set := m.OnMissing.ValueString(); set != "" || m.OnMissing.IsUnknown() {
		plain.onMissing = set
	}
	for name, entry := range m.Clusters.Elements() {
		found, entryDiags := newMember(ctx, name, entry)
		found.connection.AddSecrets(masker)
		diags.Append(entryDiags...)
		plain.clusters[name] = found
	}
	plain.groupsUnknown = isUnknownInside(ctx, m.ClusterGroups)
	if !plain.groupsUnknown {
		plain.groups = groupsOf(ctx, m.ClusterGroups, &diags)
	}
	plain.credentialsUnknown, plain.registriesUnknown = m.Git.IsUnknown(), m.Registries.IsUnknown()
	plain.credentials = credentialsOf(ctx, m.Git, &diags)
	plain.registries = registriesOf(ctx, m.Registries, &diags)
	plain.keys = keysOf(ctx, m.SOPS, &diags)
	addCredentials(masker, plain.credentials, plain.registries)
	masker.Add(plain.keys.Age...)
	masker.Add(plain.keys.PGP...)
	if diags.HasError() {
		return nil, diags
	}
	configured, err := newFleet(plain, masker)
	if wrong, ok := errors.AsType[*sops.KeyError](err); ok {
		diags.AddAttributeError(path.Root("sops").AtName(wrong.Kind+"_keys").AtListIndex(wrong.Index), "Invalid key for sops", sentence(err))
		return configured, diags
	}
	if err != nil {
		diags.AddAttributeError(path.Root("registries"), "Invalid registries", sentence(err))
	}
	return configured, diags
}

// addCredentials hides what signs in to repositories and registries.
func addCredentials(masker *diff.Masker, credentials map[string]git.Credentials, registries map[string]chart.Registry) {
	for _, of := range credentials {
		masker.Add(of.Password, of.Token, of.SSHPrivateKey, of.SSHPassphrase)
		if of.GitHubApp != nil {
			masker.Add(of.GitHubApp.PrivateKey)
		}
	}
	for _, of := range registries {
		masker.Add(of.Password, of.Token)
	}
}

// newMember reads one entry of clusters.
func newMember(ctx context.Context, name string, value attr.Value) (*member, diag.Diagnostics) {
	entry := &member{name: name}
	if value.IsUnknown() {
		entry.connectionUnknown, entry.factsUnknown = true, true
		return entry, nil
	}
	at := path.Root("clusters").AtMapKey(name)
	if value.IsNull() {
		return entry, diag.Diagnostics{diag.NewAttributeErrorDiagnostic(at, "Cluster "+name+" is null",
			"Nothing says how to reach it. Leave its key out, for example by an \"if\" in the expression that makes the map.")}
	}
	var model clusterModel
	diags := as(ctx, value, &model)
	if diags.HasError() {
		return entry, diags
	}
	entry.factsUnknown = anyUnknown(ctx, model.Labels, model.Annotations, model.TemplateValues, model.Namespace, model.DisplayName, model.Paused)
	entry.connectionUnknown = anyUnknown(ctx, append(model.connectionValues(), model.UID)...)
	entry.uid = model.UID.ValueString()
	if !entry.factsUnknown {
		facts, factDiags := model.facts(ctx, name, at)
		diags.Append(factDiags...)
		entry.facts = facts
	}
	if !entry.connectionUnknown {
		connection, connectionDiags := model.connection(ctx)
		diags.Append(connectionDiags...)
		if err := connection.Validate(); err != nil {
			diags.AddAttributeError(at, "Invalid connection of cluster "+name, sentence(err))
		}
		entry.connection = connection
	}
	return entry, diags
}

func (m clusterModel) connectionValues() []attr.Value {
	return []attr.Value{
		m.Host, m.ClusterCACertificate, m.Token, m.TokenFile, m.Username, m.Password, m.ClientCertificate, m.ClientKey,
		m.Exec, m.Kubeconfig, m.ConfigPath, m.ConfigPaths, m.ConfigContext, m.ConfigContextCluster, m.ConfigContextAuthInfo,
		m.ProxyURL, m.TLSServerName, m.Insecure, m.ImpersonateUser, m.QPS, m.Burst, m.RequestTimeout,
	}
}

func (m clusterModel) connection(ctx context.Context) (kube.Connection, diag.Diagnostics) {
	var diags diag.Diagnostics
	connection := kube.Connection{
		Host:                  m.Host.ValueString(),
		ClusterCACertificate:  m.ClusterCACertificate.ValueString(),
		Token:                 m.Token.ValueString(),
		TokenFile:             m.TokenFile.ValueString(),
		Username:              m.Username.ValueString(),
		Password:              m.Password.ValueString(),
		ClientCertificate:     m.ClientCertificate.ValueString(),
		ClientKey:             m.ClientKey.ValueString(),
		Kubeconfig:            m.Kubeconfig.ValueString(),
		ConfigPaths:           stringsOf(ctx, m.ConfigPaths, &diags),
		ConfigContext:         m.ConfigContext.ValueString(),
		ConfigContextCluster:  m.ConfigContextCluster.ValueString(),
		ConfigContextAuthInfo: m.ConfigContextAuthInfo.ValueString(),
		ProxyURL:              m.ProxyURL.ValueString(),
		TLSServerName:         m.TLSServerName.ValueString(),
		Insecure:              m.Insecure.ValueBool(),
		ImpersonateUser:       m.ImpersonateUser.ValueString(),
		QPS:                   float32(m.QPS.ValueFloat64()),
		Burst:                 int(m.Burst.ValueInt64()),
	}
	if single := m.ConfigPath.ValueString(); single != "" {
		connection.ConfigPaths = append([]string{single}, connection.ConfigPaths...)
	}
	if text := m.RequestTimeout.ValueString(); text != "" {
		// The schema has checked the form.
		connection.RequestTimeout, _ = time.ParseDuration(text)
	}
	if !m.Exec.IsNull() {
		var exec execModel
		diags.Append(as(ctx, m.Exec, &exec)...)
		connection.Exec = &kube.Exec{
			APIVersion: exec.APIVersion.ValueString(),
			Command:    exec.Command.ValueString(),
			Args:       stringsOf(ctx, exec.Args, &diags),
			Env:        stringMapOf(ctx, exec.Env, &diags),
		}
	}
	return connection, diags
}

func (m clusterModel) facts(ctx context.Context, name string, at path.Path) (target.Cluster, diag.Diagnostics) {
	var diags diag.Diagnostics
	facts := target.Cluster{
		Name:        name,
		Namespace:   m.Namespace.ValueString(),
		DisplayName: m.DisplayName.ValueString(),
		Paused:      m.Paused.ValueBool(),
		Labels:      stringMapOf(ctx, m.Labels, &diags),
		Annotations: stringMapOf(ctx, m.Annotations, &diags),
	}
	if facts.Namespace == "" {
		facts.Namespace = target.DefaultNamespace
	}
	if text := m.TemplateValues.ValueString(); text != "" {
		if err := yaml.Unmarshal([]byte(text), &facts.TemplateValues); err != nil {
			diags.AddAttributeError(at.AtName("template_values"), "Invalid template values of cluster "+name,
				"They must be a map written as YAML or JSON: "+err.Error())
		}
	}
	return facts, diags
}

func groupsOf(ctx context.Context, groups types.Map, diags *diag.Diagnostics) []target.Group {
	var found []target.Group
	for name, value := range groups.Elements() {
		var model groupModel
		diags.Append(as(ctx, value, &model)...)
		selector := selectorOf(ctx, model.Selector, diags)
		if selector == nil {
			selector = &fleetyaml.Selector{}
		}
		found = append(found, target.Group{Name: name, Selector: *selector, Labels: stringMapOf(ctx, model.Labels, diags)})
	}
	return found
}

func credentialsOf(ctx context.Context, entries types.Map, diags *diag.Diagnostics) map[string]git.Credentials {
	found := map[string]git.Credentials{}
	for prefix, value := range entries.Elements() {
		if isUnknownInside(ctx, value) {
			found[prefix] = git.Credentials{Unknown: true}
			continue
		}
		var model gitModel
		diags.Append(as(ctx, value, &model)...)
		found[prefix] = git.Credentials{
			Username:              model.Username.ValueString(),
			Password:              model.Password.ValueString(),
			Token:                 model.Token.ValueString(),
			SSHPrivateKey:         model.SSHPrivateKey.ValueString(),
			SSHPassphrase:         model.SSHPassphrase.ValueString(),
			KnownHosts:            model.KnownHosts.ValueString(),
			CABundle:              model.CABundle.ValueString(),
			InsecureSkipTLSVerify: model.Insecure.ValueBool(),
			GitHubApp:             gitHubAppOf(ctx, model.GitHubApp, diags),
		}
	}
	return found
}

// gitHubAppOf is nil for an app that was not given.
func gitHubAppOf(ctx context.Context, value types.Object, diags *diag.Diagnostics) *git.App {
	if value.IsNull() {
		return nil
	}
	var model gitHubAppModel
	diags.Append(as(ctx, value, &model)...)
	return &git.App{
		ID:             model.ID.ValueString(),
		InstallationID: model.InstallationID.ValueInt64(),
		PrivateKey:     model.PrivateKey.ValueString(),
		APIURL:         model.APIURL.ValueString(),
	}
}

func registriesOf(ctx context.Context, entries types.Map, diags *diag.Diagnostics) map[string]chart.Registry {
	found := map[string]chart.Registry{}
	for prefix, value := range entries.Elements() {
		if isUnknownInside(ctx, value) {
			found[prefix] = chart.Registry{Unknown: true}
			continue
		}
		var model registryModel
		diags.Append(as(ctx, value, &model)...)
		found[prefix] = chart.Registry{
			Username:  model.Username.ValueString(),
			Password:  model.Password.ValueString(),
			Token:     model.Token.ValueString(),
			CABundle:  []byte(model.CABundle.ValueString()),
			Insecure:  model.Insecure.ValueBool(),
			PlainHTTP: model.PlainHTTP.ValueBool(),
		}
	}
	return found
}

func keysOf(ctx context.Context, value types.Object, diags *diag.Diagnostics) sops.Keys {
	if value.IsNull() {
		return sops.Keys{}
	}
	if isUnknownInside(ctx, value) {
		return sops.Keys{Unknown: true}
	}
	var model sopsModel
	diags.Append(as(ctx, value, &model)...)
	return sops.Keys{Age: stringsOf(ctx, model.AgeKeys, diags), PGP: stringsOf(ctx, model.PGPKeys, diags)}
}
