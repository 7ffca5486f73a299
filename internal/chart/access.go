package chart

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"oras.land/oras-go/v2/registry/remote/retry"
)

// Registry says how to reach a Helm repository, an OCI registry or a server with
// archives.
type Registry struct {
	Username, Password string
	// Token is sent as a bearer token, instead of user name and password. To a
	// registry that wants a password it is sent as that.
	Token string
	// CABundle are certificates in PEM that are trusted besides the machine's own.
	CABundle []byte
	// Insecure accepts any certificate, PlainHTTP speaks HTTP to an OCI registry.
	Insecure, PlainHTTP bool
	// Unknown says that all of this is not known yet: what needs it fails with an
	// *UnknownRegistryError, and nothing is sent.
	Unknown bool
}

// UnknownRegistryError says that it is not known yet how to reach a registry.
type UnknownRegistryError struct {
	// Prefix of the entry, "" when not even that is known.
	Prefix string
}

func (e *UnknownRegistryError) Error() string {
	if e.Prefix == "" {
		return "the provider's registries are not known yet"
	}
	return fmt.Sprintf("the entry %s of the provider's registries is not known yet", shown(e.Prefix))
}

// RegistryError says that an entry of FetchConfig.Registries cannot be used.
type RegistryError struct {
	Prefix string // As configured.
	Err    error
}

func (e *RegistryError) Error() string { return fmt.Sprintf("registry %s: %v", shown(e.Prefix), e.Err) }

// Unwrap gives the cause.
func (e *RegistryError) Unwrap() error { return e.Err }

const ociScheme = "oci"

// scope is a URL as far as it decides about credentials.
type scope struct {
	scheme, host, path string
}

// scopeOf reads a URL. Two URLs of one scope give the same, whatever the server
// makes of "..", of capital letters in its name and of its standard port.
func scopeOf(u *url.URL) scope {
	scheme := strings.ToLower(u.Scheme)
	standard := map[string]string{"http": "80", "https": "443", ociScheme: "443"}[scheme]
	host := strings.ToLower(u.Hostname())
	if port := u.Port(); port != "" && port != standard {
		host += ":" + port
	}
	return scope{scheme: scheme, host: host, path: strings.TrimSuffix(path.Clean("/"+u.Path), "/")}
}

// covers says whether other lies below: host/acme covers host/acme/web, and not
// host/acme-too.
func (s scope) covers(other scope) bool {
	rest, below := strings.CutPrefix(other.path, s.path)
	return s.scheme == other.scheme && s.host == other.host && below && (rest == "" || rest[0] == '/')
}

// account is how the URLs below one prefix are reached.
type account struct {
	prefix   string // As configured.
	at       scope
	registry Registry
	// own is for the host of the prefix, foreign for what it leads to: a server
	// that gives out tokens, or storage. Only own may be insecure.
	own, foreign *http.Transport
	patience     time.Duration
}

// access finds the account for a URL.
type access struct {
	accounts []*account // The longest prefix first.
	anyone   *account
}

// newAccess reads the registries. The error is a *RegistryError.
func newAccess(config FetchConfig, patience time.Duration) (*access, error) {
	a := &access{anyone: &account{registry: Registry{Unknown: config.RegistriesUnknown}, own: newTransport(nil), foreign: newTransport(nil), patience: patience}}
	for prefix, registry := range config.Registries {
		added, err := newAccount(prefix, registry)
		if err != nil {
			return nil, &RegistryError{Prefix: prefix, Err: err}
		}
		added.patience = patience
		a.accounts = append(a.accounts, added)
	}
	slices.SortFunc(a.accounts, func(a, b *account) int { return cmp.Compare(len(b.at.path), len(a.at.path)) })
	return a, nil
}

var (
	errNoPrefix      = errors.New("the beginning of a URL is wanted: https://, http:// or oci://, a host, and perhaps a path")
	errNoCertificate = errors.New("ca_bundle holds no certificate in PEM")
	errTwoWays       = errors.New("give a token, or username and password")
)

func newAccount(prefix string, registry Registry) (*account, error) {
	parsed, err := url.Parse(prefix)
	if err != nil || parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" {
		return nil, errNoPrefix
	}
	made := &account{prefix: prefix, at: scopeOf(parsed), registry: registry}
	if !slices.Contains([]string{"https", "http", ociScheme}, made.at.scheme) {
		return nil, errNoPrefix
	}
	if registry.Token != "" && registry.Password != "" {
		return nil, errTwoWays
	}
	var roots *x509.CertPool
	if len(registry.CABundle) > 0 {
		if roots, err = x509.SystemCertPool(); err != nil {
			roots = x509.NewCertPool()
		}
		if !roots.AppendCertsFromPEM(registry.CABundle) {
			return nil, errNoCertificate
		}
	}
	made.own, made.foreign = newTransport(roots), newTransport(roots)
	made.own.TLSClientConfig.InsecureSkipVerify = registry.Insecure // Only when the user asks for it.
	return made, nil
}

func newTransport(roots *x509.CertPool) *http.Transport {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		base = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	base = base.Clone()
	base.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	return base
}

// of answers the account for a URL.
func (a *access) of(at scope) *account {
	for _, candidate := range a.accounts {
		if candidate.at.covers(at) {
			return candidate
		}
	}
	return a.anyone
}

func (a *access) close() {
	for _, each := range append([]*account{a.anyone}, a.accounts...) {
		each.own.CloseIdleConnections()
		each.foreign.CloseIdleConnections()
	}
}

// RoundTrip sends a request of HTTP with the credentials of its own URL, so that a
// redirect to elsewhere takes none along.
func (a *access) RoundTrip(request *http.Request) (*http.Response, error) {
	by := a.of(scopeOf(request.URL))
	request = request.Clone(request.Context())
	switch {
	case by.registry.Token != "":
		request.Header.Set("Authorization", "Bearer "+by.registry.Token)
	case by.registry.Username != "" || by.registry.Password != "":
		request.SetBasicAuth(by.registry.Username, by.registry.Password)
	}
	return by.RoundTrip(request)
}

// RoundTrip sends a request as it is, again when the server is only busy.
func (a *account) RoundTrip(request *http.Request) (*http.Response, error) {
	if a.registry.Unknown {
		return nil, &UnknownRegistryError{Prefix: a.prefix}
	}
	transport := a.foreign
	if scopeOf(request.URL).host == a.at.host {
		transport = a.own
	}
	again := retry.Transport{Base: patient{transport, a.patience}, Policy: retryPolicy}
	return again.RoundTrip(request)
}

// retryPolicy tries again, for about two seconds, what a server answers with a
// status that says so. What cannot be reached is not waited for.
func retryPolicy() retry.Policy {
	return &retry.GenericPolicy{
		Retryable: func(response *http.Response, err error) (bool, error) {
			if err != nil {
				return false, err
			}
			return retry.DefaultPredicate(response, nil)
		},
		Backoff:  retry.DefaultBackoff,
		MinWait:  200 * time.Millisecond,
		MaxWait:  2 * time.Second,
		MaxRetry: 3,
	}
}

var errDowngrade = errors.New("the server redirects from https to http")

// refuseDowngrade keeps a redirect from leaving TLS.
func refuseDowngrade(request *http.Request, via []*http.Request) error {
	const mostRedirects = 10
	if len(via) >= mostRedirects {
		return fmt.Errorf("the server redirects more than %d times", mostRedirects)
	}
	if request.URL.Scheme == "http" && via[len(via)-1].URL.Scheme == "https" {
		return errDowngrade
	}
	return nil
}
