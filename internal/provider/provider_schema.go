package provider

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
)

func clusterAttributes() map[string]schema.Attribute {
	attributes := connectionAttributes()
	maps.Copy(attributes, factsAttributes())
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
		"config_context":           framework.OptionalString("Context of the kubeconfig. Default: its current context."),
		"config_context_cluster":   framework.OptionalString("Cluster of the kubeconfig, instead of the context's."),
		"config_context_auth_info": framework.OptionalString("User of the kubeconfig, instead of the context's."),
		"proxy_url":                framework.OptionalString("Proxy for connections to this cluster."),
		"tls_server_name":          framework.OptionalString("Name expected in the API server's certificate."),
		"insecure":                 framework.OptionalBool("Do not verify the API server's certificate."),
		"impersonate_user":         framework.OptionalString("User to act as."),
		"qps":                      schema.Float64Attribute{Optional: true, MarkdownDescription: "Requests per second to this cluster. Default no limit: API servers protect themselves, and at most 64 requests to one cluster run at the same time."},
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

func gitAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"username":        framework.OptionalString("User name."),
		"password":        framework.SecretString("Password."),
		"token":           framework.SecretString("Access token, sent as password."),
		"ssh_private_key": framework.SecretString("Private key for ssh, PEM."),
		"ssh_passphrase":  framework.SecretString("Passphrase of the private key."),
		"known_hosts":     framework.OptionalString("Host keys of the ssh server, in the format of a known_hosts file."),
		"ca_bundle":       framework.OptionalString("Certificates of the server's authority, PEM."),
		"insecure":        framework.OptionalBool("Do not verify the server's certificate."),
		"github_app": framework.OptionalObject("Sign in as an installation of a GitHub App, instead of as a user.", map[string]schema.Attribute{
			"id":              framework.RequiredString("Id or client id of the app."),
			"installation_id": schema.Int64Attribute{Required: true, MarkdownDescription: "Id of its installation."},
			"private_key":     schema.StringAttribute{Required: true, Sensitive: true, MarkdownDescription: "Private key of the app, PEM."},
			"api_url":         framework.OptionalString("Address of the API. Default: `https://api.github.com` for github.com, `https://api.` and the host for hosts below ghe.com (GitHub Enterprise Cloud with data residency), and `/api/v3` of the host for others."),
		}),
	}
}

func registryAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"username": framework.OptionalString("User name."),
		"password": framework.SecretString("Password."),
		"token":    framework.SecretString("Bearer token, instead of user name and password."),
		"exec": framework.OptionalObject("A command that prints user name and password, as "+
			"[Docker's credential helpers](https://github.com/docker/docker-credential-helpers) do: it reads the host from standard input, such as `ghcr.io`, "+
			"and prints `{\"Username\": \"…\", \"Secret\": \"…\"}`. It runs for each entry when a chart or an image is looked for, and again after 5 minutes.", map[string]schema.Attribute{
			"command": framework.RequiredString("The command, such as `docker-credential-ecr-login`."),
			"args":    framework.OptionalStrings("Its arguments. Default `[\"get\"]`."),
			"env":     framework.OptionalStringMap("Environment variables for it."),
		}),
		"ca_bundle":  framework.OptionalString("Certificates of the server's authority, PEM."),
		"insecure":   framework.OptionalBool("Do not verify the server's certificate."),
		"plain_http": framework.OptionalBool("Use HTTP for an OCI registry."),
	}
}

func tlsAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"ca_bundle":    framework.OptionalString("Certificates, PEM, such as `file(\"company-ca.pem\")`."),
		"system_roots": framework.OptionalBool("Trust the authorities of the machine, too. Default `true`."),
	}
}
