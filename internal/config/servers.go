package config

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
)

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

func (m gitModel) credentials() git.Credentials {
	return git.Credentials{
		Username: m.Username, Password: secret.Hide(m.Password), Token: secret.Hide(m.Token), GitHubApp: m.GitHubApp.app(),
		SSHPrivateKey: secret.Hide(m.SSHPrivateKey), SSHPassphrase: secret.Hide(m.SSHPassphrase), KnownHosts: m.KnownHosts,
		CABundle: m.CABundle, InsecureSkipTLSVerify: m.Insecure,
	}
}

func (m *gitHubAppModel) app() *git.App {
	if m == nil {
		return nil
	}
	return &git.App{ID: m.ID, InstallationID: m.InstallationID, PrivateKey: secret.Hide(m.PrivateKey), APIURL: m.APIURL}
}

func (m registryModel) registry() chart.Registry {
	return chart.Registry{
		Username: m.Username, Password: secret.Hide(m.Password), Token: secret.Hide(m.Token), Helper: m.Exec.helper(),
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

// withoutServers returns settings with which no server can be read yet.
func (s Settings) withoutServers() Settings {
	s.GitUnknown, s.RegistriesUnknown = true, true
	for prefix := range s.Git {
		s.Git[prefix] = git.Credentials{Unknown: true}
	}
	for prefix := range s.Registries {
		s.Registries[prefix] = chart.Registry{Unknown: true}
	}
	return s
}

// withTrust adds the authorities that are trusted. As long as they are unknown, no server can be read.
func (s Settings) withTrust(ctx context.Context, value types.Object, diags *diag.Diagnostics) Settings {
	if framework.IsUnknownInside(ctx, value) {
		return s.withoutServers()
	}
	var m tlsModel
	if !value.IsNull() {
		framework.AsPlain(ctx, value, &m, diags)
	}
	s.Trust = fetch.Trust{CABundle: m.CABundle, WithoutSystemRoots: m.SystemRoots != nil && !*m.SystemRoots}
	if err := s.Trust.Check(); err != nil {
		diagnostics.Add(diags, report.InvalidSetting("tls", "Invalid tls", err))
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
	return sops.Keys{Age: secret.Hide(m.AgeKeys), PGP: secret.Hide(m.PGPKeys)}
}
