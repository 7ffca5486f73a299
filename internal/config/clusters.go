package config

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/cluster"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func clusterAttributes() map[string]schema.Attribute {
	attributes := connectionAttributes()
	maps.Copy(attributes, factsAttributes())
	attributes["namespaces"] = schema.ListAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "The namespaces that releases on this cluster are deployed to, if its user may not list Secrets in all namespaces. Release records are listed in these namespaces only. " +
			"The provider then knows no release in other namespaces, and a deployment to another namespace is an error of the plan. " +
			"This limits no objects: the rights of the user decide about those. Default: all namespaces, with one list.",
		Validators: []validator.List{listvalidator.SizeAtLeast(1), listvalidator.ValueStringsAre(framework.DNSLabel())},
	}
	return attributes
}

func connectionAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"host":                   framework.OptionalString("Address of the API server, such as `https://10.0.0.1:6443`."),
		"cluster_ca_certificate": framework.OptionalString("Certificate of the API server's authority, PEM."),
		"token":                  framework.SecretString("Bearer token."),
		"token_file":             framework.OptionalString("File with a bearer token; read again when it changes."),
		"username":               framework.OptionalString("User name for basic authentication."),
		"password":               framework.SecretString("Password for basic authentication."),
		"client_certificate":     framework.OptionalString("Client certificate, PEM."),
		"client_key":             framework.SecretString("Key of the client certificate, PEM."),
		"exec": framework.OptionalObject("A command that prints credentials, as in a kubeconfig.", map[string]schema.Attribute{
			"api_version": framework.RequiredString("Version of the protocol, such as `client.authentication.k8s.io/v1`."),
			"command":     framework.RequiredString("The command."),
			"args":        framework.OptionalStrings("Its arguments."),
			"env":         framework.OptionalStringMap("Environment variables for it."),
		}),
		"kubeconfig":               framework.SecretString("Content of a kubeconfig file."),
		"config_path":              framework.OptionalString("Path of a kubeconfig file; `~` is the home folder."),
		"config_paths":             framework.OptionalStrings("Paths of kubeconfig files that are merged."),
		"config_context":           framework.OptionalString("Context of the kubeconfig. Required, unless the kubeconfig has exactly one context. It is checked when the cluster is first connected to."),
		"config_context_cluster":   framework.OptionalString("Cluster of the kubeconfig, instead of the context's."),
		"config_context_auth_info": framework.OptionalString("User of the kubeconfig, instead of the context's."),
		"from_environment": framework.OptionalBool("`true` takes the connection from environment variables: `KUBE_HOST` and the others of HashiCorp's kubernetes provider, or `KUBECONFIG`, with its current context unless `config_context` is set. " +
			"Without it, no environment variable counts."),
		"proxy_url":        framework.OptionalString("Proxy for connections to this cluster."),
		"tls_server_name":  framework.OptionalString("Name expected in the API server's certificate."),
		"insecure":         framework.OptionalBool("Do not verify the API server's certificate."),
		"impersonate_user": framework.OptionalString("User to act as."),
		"qps":              schema.Float64Attribute{Optional: true, MarkdownDescription: "Requests per second to this cluster. Default no limit: API servers protect themselves, and at most 64 requests to one cluster run at the same time."},
		"burst": schema.Int64Attribute{
			Optional: true, MarkdownDescription: "Requests at the same time before `qps` applies. Default 100. Without `qps` it has no effect, and the plan warns.",
			Validators: []validator.Int64{framework.NeedsFloat64("qps", "burst has no effect", "Without qps requests to this cluster are not limited. Set qps, or remove burst.")},
		},
		"request_timeout": framework.OptionalString("Longest time for one request, such as `30s`, the default.", framework.Duration()),
	}
}

func factsAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"labels":          framework.OptionalStringMap("Labels for selectors and templates."),
		"annotations":     framework.OptionalStringMap("Annotations for templates."),
		"template_values": framework.OptionalString("The value of `.ClusterValues` in templates: a map as YAML or JSON, for example by `jsonencode`."),
		"namespace":       framework.OptionalString("Fleet's workspace namespace, for templates. Default `fleet-default`."),
		"uid": framework.OptionalString("UID of the cluster's namespace `kube-system`. Nothing is written to a cluster with another UID. " +
			"Without it, the first apply of a target accepts any cluster that the connection reaches. Later applies compare its UID with the state."),
		"display_name": framework.OptionalString("A second name of the cluster, for rules."),
		"kube_version": framework.OptionalString("Version of Kubernetes that charts read as `.Capabilities.KubeVersion`, such as `1.34` or `v1.34.1`. With it, charts are rendered " +
			"without a look at what the cluster serves: their objects are known before the cluster is there. Default: what the cluster serves. A change alone deploys nothing."),
		"api_versions": framework.OptionalStrings("API versions that charts find in `.Capabilities.APIVersions`, such as `monitoring.coreos.com/v1` or `monitoring.coreos.com/v1/ServiceMonitor`, " +
			"beside those that `helm template` assumes. Needs `kube_version`."),
		"paused": framework.OptionalBool("Pause the cluster: changes are planned as held, and existing deployments stay as they are."),
	}
}

// clusterModel is an entry of clusters in plain values.
type clusterModel struct {
	connectionModel
	FactsModel

	Namespaces  []string `tfsdk:"namespaces"`
	UID         string   `tfsdk:"uid"`
	KubeVersion *string  `tfsdk:"kube_version"`
	APIVersions []string `tfsdk:"api_versions"`
	Paused      bool     `tfsdk:"paused"`
}

// connectionModel is the connection to a cluster.
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
	FromEnvironment       bool       `tfsdk:"from_environment"`
	ProxyURL              string     `tfsdk:"proxy_url"`
	TLSServerName         string     `tfsdk:"tls_server_name"`
	Insecure              bool       `tfsdk:"insecure"`
	ImpersonateUser       string     `tfsdk:"impersonate_user"`
	QPS                   float64    `tfsdk:"qps"`
	Burst                 int64      `tfsdk:"burst"`
	RequestTimeout        string     `tfsdk:"request_timeout"`
}

// FactsModel contains the facts of a cluster for targeting and templates.
type FactsModel struct {
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

// clusterEntry reads one entry of clusters.
func clusterEntry(ctx context.Context, name string, value attr.Value, diags *diag.Diagnostics) cluster.Entry {
	if value.IsUnknown() {
		return cluster.Entry{ConnectionUnknown: true, FactsUnknown: true}
	}
	if value.IsNull() {
		diagnostics.Add(diags, report.NullCluster(name))
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
		entry.Facts = model.Facts(name, diags)
		entry.Facts.Paused, entry.Facts.Capabilities = model.Paused, model.capabilities(name, diags)
	}
	if !entry.ConnectionUnknown {
		entry.Connection = model.connection()
		entry.Connection.Namespaces = slices.Compact(slices.Sorted(slices.Values(model.Namespaces)))
		if err := entry.Connection.Validate(); err != nil {
			diagnostics.Add(diags, report.InvalidConnection(name, err))
		}
	}
	return entry
}

// withoutUnknownLabels removes labels with unknown values from an entry of clusters, and returns
// their keys.
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

// unknownParts reports whether parts of an entry of clusters are unknown. facts are the attributes
// for targeting and templates, and connection is all others.
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

func (m connectionModel) connection() connect.Connection {
	connection := connect.Connection{
		Host: m.Host, ClusterCACertificate: m.ClusterCACertificate, TLSServerName: m.TLSServerName, Insecure: m.Insecure, ProxyURL: m.ProxyURL,
		Token: secret.Hide(m.Token), TokenFile: m.TokenFile, Username: m.Username, Password: secret.Hide(m.Password),
		ClientCertificate: m.ClientCertificate, ClientKey: secret.Hide(m.ClientKey), ImpersonateUser: m.ImpersonateUser,
		Kubeconfig: secret.Hide(m.Kubeconfig), ConfigPaths: m.ConfigPaths, ConfigContext: m.ConfigContext,
		ConfigContextCluster: m.ConfigContextCluster, ConfigContextAuthInfo: m.ConfigContextAuthInfo,
		FromEnvironment: m.FromEnvironment,
		QPS:             float32(m.QPS), Burst: int(m.Burst),
	}
	if m.ConfigPath != "" {
		connection.ConfigPaths = append([]string{m.ConfigPath}, connection.ConfigPaths...)
	}
	if m.RequestTimeout != "" {
		// The schema has checked the form.
		connection.RequestTimeout, _ = time.ParseDuration(m.RequestTimeout)
	}
	if m.Exec != nil {
		connection.Exec = &connect.Exec{APIVersion: m.Exec.APIVersion, Command: m.Exec.Command, Args: m.Exec.Args, Env: m.Exec.Env}
	}
	return connection
}

// capabilities returns the capabilities that the configuration sets, nil if it sets none.
func (m clusterModel) capabilities(name string, diags *diag.Diagnostics) *target.Capabilities {
	if m.KubeVersion == nil {
		if m.APIVersions != nil {
			diagnostics.Add(diags, report.APIVersionsAlone(name))
		}
		return nil
	}
	fixed, err := render.FixedCapabilities(*m.KubeVersion, m.APIVersions)
	if err != nil {
		diagnostics.Add(diags, report.InvalidKubeVersion(name, err))
	}
	return &fixed
}

// Facts returns the facts of the cluster with a name.
func (m FactsModel) Facts(name string, diags *diag.Diagnostics) target.Cluster {
	facts := target.Cluster{
		Name: name, Namespace: cmp.Or(m.Namespace, target.DefaultNamespace), DisplayName: m.DisplayName,
		Labels: m.Labels, Annotations: m.Annotations,
	}
	if m.TemplateValues != "" {
		if err := yaml.Unmarshal([]byte(m.TemplateValues), &facts.TemplateValues); err != nil {
			diagnostics.Add(diags, report.InvalidTemplateValues(name, err))
		}
	}
	return facts
}
