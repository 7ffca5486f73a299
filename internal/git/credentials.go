package git

import (
	"cmp"
	"context"
	"fmt"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// Credentials open the repositories below one URL prefix. Over HTTP a GitHubApp,
// a Token or a Password is sent, over SSH an SSHPrivateKey or a Password is used.
type Credentials struct {
	// Username; with a Token, or over SSH, it may be empty.
	Username string
	Password secret.Of[string]
	// Token is an access token of GitHub, GitLab, Bitbucket, Gitea or Azure
	// DevOps, sent as a password.
	Token secret.Of[string]
	// GitHubApp signs in as an installation of a GitHub App, nil for none.
	GitHubApp *App

	// SSHPrivateKey in PEM. Without a key and a password, the SSH agent is used.
	SSHPrivateKey secret.Of[string]
	SSHPassphrase secret.Of[string]
	// KnownHosts are lines of a known_hosts file. Without them the machine's
	// own files are used; a server that none of them names is refused.
	KnownHosts string

	// CABundle contains certificates in PEM that are trusted in addition to the
	// machine's own.
	CABundle string
	// InsecureSkipTLSVerify accepts any HTTPS certificate. It does not concern
	// SSH.
	InsecureSkipTLSVerify bool

	// Unknown is true if the credentials are not known yet. A request that needs them fails with
	// an *UnknownCredentialsError, and nothing is sent.
	Unknown bool
}

// tokenUsername is sent with a token that has no username. Bitbucket requires this one; GitHub,
// GitLab, Gitea and Azure DevOps accept any.
const tokenUsername = "x-token-auth" //nolint:gosec // A name, no secret.

// account is how one URL prefix is accessed.
type account struct {
	prefix      string // As configured; "" for no credentials.
	credentials Credentials
	transport   *fetch.Transport
	app         *installation // nil without a GitHubApp.
	err         error         // Why the account cannot be used over HTTP.
	// withheld is true if the credentials are not used, because the content of a repository names
	// the URL.
	withheld bool
}

// access finds the account for a URL.
type access struct {
	accounts  fetch.Credentials[account]
	anonymous account
	boundary  fetch.Boundary
	trust     fetch.Trust
	cacheDir  string
}

func newAccess(config Config) access {
	a := access{
		anonymous: newAccount("", location{}, Credentials{Unknown: config.CredentialsUnknown}, config),
		boundary:  config.Boundary, trust: config.Trust, cacheDir: config.CacheDir,
	}
	for prefix, credentials := range config.Credentials {
		at, err := parseLocation(prefix)
		if err != nil {
			continue // Such a prefix matches no URL; the provider reports it with ScopeOf.
		}
		a.accounts.Add(prefix, at.scope(), newAccount(prefix, at, credentials, config))
	}
	return a
}

// ScopeOf returns the scope of a key of Config.Credentials. It returns an *UnsupportedURLError for a
// key that cannot match a URL.
func ScopeOf(prefix string) (fetch.Scope, error) {
	at, err := parseLocation(prefix)
	return at.scope(), err
}

// accountFor returns the account for a repository. Without the right to credentials, only the
// settings of TLS are used.
func (a access) accountFor(at location, entitled bool) account {
	found, ok := a.accounts.Find(at.scope())
	if !ok {
		found = a.anonymous
	}
	if !entitled {
		found.credentials = Credentials{}
		found.app = nil
		found.withheld = true
	}
	return found
}

// close closes idle connections.
func (a access) close() {
	a.anonymous.transport.CloseIdleConnections()
	for one := range a.accounts.All() {
		one.transport.CloseIdleConnections()
	}
}

func newAccount(prefix string, at location, credentials Credentials, config Config) account {
	a := account{prefix: prefix, credentials: credentials}
	a.transport, a.err = fetch.NewTransport(config.Boundary, config.Trust, []byte(credentials.CABundle), credentials.InsecureSkipTLSVerify)
	if credentials.Unknown {
		a.err = &UnknownCredentialsError{Prefix: prefix}
		return a
	}
	if credentials.GitHubApp != nil && a.err == nil {
		a.app, a.err = newInstallation(*credentials.GitHubApp, at, a.transport.To(true))
	}
	return a
}

// basic returns the username and password to send to an HTTP server; ok is false if there are
// none. user is the username in the URL.
func (a account) basic(ctx context.Context, user string) (username, password string, ok bool, err error) {
	username = cmp.Or(a.credentials.Username, user)
	switch c := a.credentials; {
	case a.app != nil:
		token, err := a.app.token(ctx)
		if err != nil {
			return "", "", false, fmt.Errorf("signing in as GitHub App %s: %w", c.GitHubApp.ID, err)
		}
		return appUsername, token, true, nil
	case !c.Token.IsZero():
		return cmp.Or(username, tokenUsername), c.Token.Reveal(), true, nil
	case !c.Password.IsZero() && username == "":
		// As Fleet does (pkg/git of rancher/fleet, cloner.go).
		return c.Password.Reveal(), "", true, nil
	}
	return username, a.credentials.Password.Reveal(), username != "", nil
}
