package chart

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

// Registry says how to reach a Helm repository, an OCI registry or a server with
// archives.
type Registry struct {
	Username, Password string
	// Token is sent as a bearer token, instead of user name and password. To a
	// registry that wants a password it is sent as that.
	Token string
	// Helper prints user name and password, instead of the others. nil for none.
	Helper *CredentialHelper
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

// account is how the URLs below one prefix are reached.
type account struct {
	prefix   string // As configured.
	at       fetch.Scope
	registry Registry
	// own is for the host of the prefix, foreign for what it leads to: a server
	// that gives out tokens, or storage. Only own may be insecure.
	own, foreign *http.Transport
	patience     time.Duration

	logins    fetch.Cache[login]      // What the helper has printed, by the time.
	addSecret func(secrets ...string) // It gets what the helper prints, nil for nobody.
}

// access finds the account for a URL.
type access struct {
	accounts fetch.Credentials[*account]
	anyone   *account
}

// newAccess reads the registries. The error is a *RegistryError.
func newAccess(config FetchConfig, patience time.Duration) (*access, error) {
	anyone, err := newTransports(&account{registry: Registry{Unknown: config.RegistriesUnknown}, patience: patience}, config.Trust)
	if err != nil {
		return nil, err
	}
	a := &access{anyone: anyone}
	for prefix, registry := range config.Registries {
		added, err := newAccount(prefix, registry, patience, config.Trust)
		if err != nil {
			return nil, &RegistryError{Prefix: prefix, Err: err}
		}
		added.addSecret = config.AddSecret
		a.accounts.Add(prefix, added.at, added)
	}
	return a, nil
}

var (
	errNoPrefix = errors.New("it must be the beginning of a URL: https://, http:// or oci://, a host, and optionally a path")
	errTwoWays  = errors.New("set one of token, username with password, or exec")
)

func newAccount(prefix string, registry Registry, patience time.Duration, trust fetch.Trust) (*account, error) {
	parsed, err := url.Parse(prefix)
	if err != nil || parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" {
		return nil, errNoPrefix
	}
	at := fetch.ScopeOf(parsed)
	if !slices.Contains([]string{"https", "http", ociScheme}, at.Scheme) {
		return nil, errNoPrefix
	}
	if registry.hasTwo() {
		return nil, errTwoWays
	}
	return newTransports(&account{prefix: prefix, at: at, registry: registry, patience: patience}, trust)
}

func newTransports(a *account, trust fetch.Trust) (*account, error) {
	var err error
	if a.own, err = fetch.NewTransport(trust, a.registry.CABundle, a.registry.Insecure); err != nil {
		return nil, err
	}
	a.foreign, err = fetch.NewTransport(trust, a.registry.CABundle, false)
	return a, err
}

// of returns the account for a URL.
func (a *access) of(at fetch.Scope) *account {
	if found, ok := a.accounts.Find(at); ok {
		return found
	}
	return a.anyone
}

func (a *access) close() {
	a.anyone.close()
	for each := range a.accounts.All() {
		each.close()
	}
}

func (a *account) close() {
	a.own.CloseIdleConnections()
	a.foreign.CloseIdleConnections()
}

// RoundTrip sends a request of HTTP with the credentials of its own URL, so that a
// redirect to elsewhere takes none along.
func (a *access) RoundTrip(request *http.Request) (*http.Response, error) {
	by := a.of(fetch.ScopeOf(request.URL))
	as, err := by.login(request.Context())
	if err != nil {
		return nil, err
	}
	request = request.Clone(request.Context())
	switch {
	case as.token != "":
		request.Header.Set("Authorization", "Bearer "+as.token)
	case as.username != "" || as.password != "":
		request.SetBasicAuth(as.username, as.password)
	}
	return by.RoundTrip(request)
}

// RoundTrip sends a request as it is, again when the server is only busy.
func (a *account) RoundTrip(request *http.Request) (*http.Response, error) {
	if a.registry.Unknown {
		return nil, &UnknownRegistryError{Prefix: a.prefix}
	}
	transport := a.foreign
	if fetch.ScopeOf(request.URL).Host == a.at.Host {
		transport = a.own
	}
	idle := fetch.IdleTransport{Next: transport, After: a.patience, Enough: enough}
	return retry.Transport{Next: idle, Policy: retry.Download(), Repeatable: isRepeatable, Passing: isBusy}.RoundTrip(request)
}

// enough is how many bytes must arrive to earn more patience.
const enough = 16 << 10

// isRepeatable allows every request: to download changes nothing.
func isRepeatable(*http.Request) bool { return true }

// isBusy says whether a server responds with a status that asks for patience. What cannot be
// reached is not waited for.
func isBusy(_ *http.Request, response *http.Response, err error) bool {
	if err != nil {
		return false
	}
	switch response.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return response.StatusCode >= http.StatusInternalServerError
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
