package git

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// Credentials open the repositories below one URL prefix. Over HTTP a Token or
// a Password is sent, over SSH an SSHPrivateKey or a Password is used.
type Credentials struct {
	// Username; with a Token, or over SSH, it may be empty.
	Username string
	Password string
	// Token is an access token of GitHub, GitLab, Bitbucket, Gitea or Azure
	// DevOps, sent as a password.
	Token string

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
}

// tokenUsername goes with a token that has no username. Bitbucket asks for this
// one; GitHub, GitLab, Gitea and Azure DevOps take any.
const tokenUsername = "x-token-auth" //nolint:gosec // A name, no secret.

// responseTimeout bounds the wait for the first byte of an answer; a large
// repository may take its server minutes to pack.
const responseTimeout = 5 * time.Minute

// account is how one URL prefix is accessed.
type account struct {
	prefix      string // As configured; "" for no credentials.
	at          location
	credentials Credentials
	http        transport.Transport
	err         error // Why the account cannot be used.
}

// access finds the account for a URL. The longest prefix comes first.
type access struct {
	accounts  []account
	anonymous account
	cacheDir  string
}

func newAccess(config Config) access {
	a := access{anonymous: newAccount("", Credentials{}), cacheDir: config.CacheDir}
	for prefix, credentials := range config.Credentials {
		at, err := parseLocation(prefix)
		if err != nil {
			continue // It covers nothing; ValidatePrefix says so where it is configured.
		}
		next := newAccount(prefix, credentials)
		next.at = at
		a.accounts = append(a.accounts, next)
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

func newAccount(prefix string, credentials Credentials) account {
	a := account{prefix: prefix, credentials: credentials}
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		base = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	base = base.Clone()
	base.ResponseHeaderTimeout = responseTimeout
	if a.credentials.CABundle != "" || a.credentials.InsecureSkipTLSVerify {
		base.TLSClientConfig, a.err = a.credentials.tls()
	}
	// Its own client, not go-git's registry of protocols, which is shared by the
	// whole process.
	a.http = githttp.NewClientWithOptions(&http.Client{Transport: base},
		&githttp.ClientOptions{RedirectPolicy: githttp.FollowInitialRedirects})
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

// basic is what an HTTP server is sent, nil for nothing.
func (c Credentials) basic(user string) transport.AuthMethod {
	username := cmp.Or(c.Username, user)
	switch {
	case c.Token != "":
		return &githttp.BasicAuth{Username: cmp.Or(username, tokenUsername), Password: c.Token}
	case c.Password != "" && username == "":
		// As Fleet does (pkg/git of rancher/fleet, cloner.go).
		return &githttp.BasicAuth{Username: c.Password}
	case username != "":
		return &githttp.BasicAuth{Username: username, Password: c.Password}
	}
	return nil
}
