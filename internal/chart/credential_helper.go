package chart

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/command"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// CredentialHelper is a command that prints the credentials of a registry, as Docker's do
// (https://github.com/docker/docker-credential-helpers). It reads the host from standard input,
// such as "ghcr.io", or "https://index.docker.io/v1/" for Docker Hub, and prints
// {"Username": "…", "Secret": "…"}. With "<token>" as user name, the secret is an identity token,
// which only OCI registries accept.
type CredentialHelper struct {
	Command string
	// Args are ["get"] if there are none.
	Args []string
	// Env are variables beside those of this process, such as "AWS_PROFILE=prod".
	Env []string
}

// login has the credentials for the requests to a registry.
type login struct {
	username, password string
	// token is a bearer token. identity is an identity token, which an OCI registry exchanges for
	// bearer tokens.
	token, identity string
}

// identityUser is the user name that a helper prints with an identity token.
const identityUser = "<token>"

// loginTime is how long the output of a helper is used. Tokens of clouds are valid for an hour or
// less, and helpers print new ones in time.
const loginTime = 5 * time.Minute

var (
	errNoLogin   = errors.New("its output is not an object with Username and Secret, as Docker's credential helpers print it")
	errWantsName = errors.New("it printed an identity token, which only OCI registries take")
)

// login returns the credentials of the entry. A command that prints them runs again after
// loginTime. Its error is a *command.CredentialsError.
func (a *account) login(ctx context.Context) (login, error) {
	if a.registry.Helper == nil {
		return login{username: a.registry.Username, password: a.registry.Password.Reveal(), token: a.registry.Token.Reveal()}, nil
	}
	period := time.Now().Truncate(loginTime).Format(time.RFC3339)
	return a.logins.Get(ctx, period, "reading the credentials of a registry", a.runHelper)
}

func (a *account) runHelper(ctx context.Context) (login, error) {
	helper := command.Command{
		Name: a.registry.Helper.Command, Args: a.registry.Helper.Args, Env: a.registry.Helper.Env, Input: a.server() + "\n",
		Limit: command.DefaultLimit, PrintsErrors: true,
	}
	if len(helper.Args) == 0 {
		helper.Args = []string{"get"}
	}
	ctx, cancel := context.WithTimeout(ctx, helper.Limit)
	defer cancel()
	var got login
	err := helper.Run(ctx, func(printed []byte) error {
		var output struct{ Username, Secret string }
		if json.Unmarshal(printed, &output) != nil || output.Username == "" || output.Secret == "" {
			return errNoLogin
		}
		switch {
		case output.Username != identityUser:
			got = login{username: output.Username, password: output.Secret}
		case a.at.Scheme == ociScheme:
			got = login{identity: output.Secret}
		default:
			return errWantsName
		}
		return nil
	}, func(printed map[string]any) any { return printed })
	if err == nil && a.addSecret != nil {
		a.addSecret(got.password, got.identity)
	}
	return got, err
}

// server returns the name of a registry for helpers: its host as configured, or the address of
// Docker Hub.
func (a *account) server() string {
	parsed, err := url.Parse(a.prefix)
	if err != nil {
		return a.at.Host
	}
	return credentials.ServerAddressFromRegistry(parsed.Host)
}

// Secrets returns the values of a registry that must stay secret.
func (r Registry) Secrets() []string {
	secrets := []string{r.Password.Reveal(), r.Token.Reveal()}
	if r.Helper == nil {
		return secrets
	}
	for _, variable := range r.Helper.Env {
		_, value, _ := strings.Cut(variable, "=")
		secrets = append(secrets, value)
	}
	return append(secrets, command.SecretArguments(r.Helper.Args)...)
}

// WithoutCredentials returns the registry without its credentials.
func (r Registry) WithoutCredentials() Registry {
	r.Username = ""
	r.Password = secret.Of[string]{}
	r.Token = secret.Of[string]{}
	r.Helper = nil
	return r
}

// hasTwo reports whether there is more than one kind of credentials.
func (r Registry) hasTwo() bool {
	given := []bool{!r.Token.IsZero(), !r.Password.IsZero(), r.Helper != nil}
	return len(slices.DeleteFunc(given, func(is bool) bool { return !is })) > 1 || r.Helper != nil && r.Username != ""
}
