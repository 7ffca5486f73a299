package git

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// Credentials open the repositories below one URL prefix. Over HTTP a GitHubApp,
// a Token or a Password is sent, over SSH an SSHPrivateKey or a Password is used.
type Credentials struct {
	// Username; with a Token, or over SSH, it may be empty.
	Username string
	Password string
	// Token is an access token of GitHub, GitLab, Bitbucket, Gitea or Azure
	// DevOps, sent as a password.
	Token string
	// GitHubApp signs in as an installation of a GitHub App, nil for none.
	GitHubApp *App

	// SSHPrivateKey in PEM. Without key and password the SSH agent is asked.
	SSHPrivateKey string
	SSHPassphrase string
	// KnownHosts are lines of a known_hosts file. Without them the machine's
	// own files are used; a server that none of them names is refused.
	KnownHosts string

	// CABundle holds certificates in PEM that are trusted in addition to the
	// machine's own.
	CABundle string
	// InsecureSkipTLSVerify accepts any HTTPS certificate. It does not concern
	// SSH.
	InsecureSkipTLSVerify bool

	// Unknown says that they are not known yet: what needs them fails with an
	// *UnknownCredentialsError, and nothing is sent.
	Unknown bool
}

// tokenUsername goes with a token that has no username. Bitbucket asks for this
// one; GitHub, GitLab, Gitea and Azure DevOps take any.
const tokenUsername = "x-token-auth" //nolint:gosec // A name, no secret.

// account is how one URL prefix is accessed.
type account struct {
	prefix      string // As configured; "" for no credentials.
	at          location
	credentials Credentials
	transport   *http.Transport
	app         *installation // nil without a GitHubApp.
	err         error         // Why the account cannot be used over HTTP.
}

// access finds the account for a URL. The longest prefix comes first.
type access struct {
	accounts  []account
	anonymous account
	cacheDir  string
}

func newAccess(config Config) access {
	a := access{anonymous: newAccount("", location{}, Credentials{Unknown: config.CredentialsUnknown}), cacheDir: config.CacheDir}
	for prefix, credentials := range config.Credentials {
		at, err := parseLocation(prefix)
		if err != nil {
			continue // It covers nothing; ValidatePrefix says so where it is configured.
		}
		a.accounts = append(a.accounts, newAccount(prefix, at, credentials))
	}
	slices.SortFunc(a.accounts, func(a, b account) int {
		return cmp.Or(
			cmp.Compare(len(segments(b.at.path)), len(segments(a.at.path))),
			cmp.Compare(len(b.at.user), len(a.at.user)),
			cmp.Compare(a.prefix, b.prefix))
	})
	return a
}

// ValidatePrefix says whether a key of Config.Credentials can cover a URL. The
// error is an *UnsupportedURLError.
func ValidatePrefix(prefix string) error {
	_, err := parseLocation(prefix)
	return err
}

// of answers the account for a repository.
func (a access) of(at location) account {
	for _, candidate := range a.accounts {
		if candidate.at.covers(at) {
			return candidate
		}
	}
	return a.anonymous
}

// close ends connections that are kept for later.
func (a access) close() {
	for _, one := range append(a.accounts, a.anonymous) {
		one.transport.CloseIdleConnections()
	}
}

func newAccount(prefix string, at location, credentials Credentials) account {
	a := account{prefix: prefix, at: at, credentials: credentials}
	// The default one takes proxies from the environment.
	a.transport = &http.Transport{Proxy: http.ProxyFromEnvironment}
	if base, ok := http.DefaultTransport.(*http.Transport); ok {
		a.transport = base.Clone()
	}
	if credentials.Unknown {
		a.err = &UnknownCredentialsError{Prefix: prefix}
		return a
	}
	if credentials.CABundle != "" || credentials.InsecureSkipTLSVerify {
		a.transport.TLSClientConfig, a.err = credentials.tls()
	}
	if credentials.GitHubApp != nil && a.err == nil {
		a.app, a.err = newInstallation(*credentials.GitHubApp, at, a.transport)
	}
	return a
}

var errNoCertificate = errors.New("ca_bundle holds no certificate in PEM")

func (c Credentials) tls() (*tls.Config, error) {
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: c.InsecureSkipTLSVerify, //nolint:gosec // Only when the user asks for it.
	}
	if c.CABundle == "" {
		return config, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM([]byte(c.CABundle)) {
		return nil, errNoCertificate
	}
	config.RootCAs = pool
	return config, nil
}

// basic is the username and password that an HTTP server is sent, ok is false
// for none. user is the one that the URL names.
func (a account) basic(ctx context.Context, user string) (username, password string, ok bool, err error) {
	username = cmp.Or(a.credentials.Username, user)
	switch c := a.credentials; {
	case a.app != nil:
		token, err := a.app.token(ctx)
		if err != nil {
			return "", "", false, fmt.Errorf("signing in as GitHub App %s: %w", c.GitHubApp.ID, err)
		}
		return appUsername, token, true, nil
	case c.Token != "":
		return cmp.Or(username, tokenUsername), c.Token, true, nil
	case c.Password != "" && username == "":
		// As Fleet does (pkg/git of rancher/fleet, cloner.go).
		return c.Password, "", true, nil
	}
	return username, a.credentials.Password, username != "", nil
}
