package chart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// Registry configures the access to a Helm repository, an OCI registry or a server with archives.
type Registry struct {
	Username string
	Password secret.Of[string]
	// Token is sent as a bearer token, instead of user name and password. A registry that
	// requires a password gets the token as the password.
	Token secret.Of[string]
	// Helper prints user name and password, instead of the fields above; nil for none.
	Helper *CredentialHelper
	// CABundle are certificates in PEM that are trusted besides the machine's own.
	CABundle []byte
	// Insecure accepts any certificate, PlainHTTP uses HTTP for an OCI registry.
	Insecure, PlainHTTP bool
	// Unknown is true if the other fields are not known yet. A request that needs them fails with
	// an *UnknownRegistryError, and nothing is sent.
	Unknown bool
}

// UnknownRegistryError reports that the settings of a registry are not known yet.
type UnknownRegistryError struct {
	// Prefix of the entry, "" when the prefix is not known either.
	Prefix string
}

func (e *UnknownRegistryError) Error() string {
	if e.Prefix == "" {
		return "the provider's registries are not known yet"
	}
	return fmt.Sprintf("the entry %s of the provider's registries is not known yet", shown(e.Prefix))
}

// RegistryError reports that an entry of FetchConfig.Registries cannot be used.
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
	// own is for the host of the prefix, foreign for other hosts that it refers to: a token
	// server, or storage. Only own may be insecure.
	own, foreign *fetch.Transport
	patience     time.Duration

	logins    fetch.Cache[login]      // Output of the helper, by period of loginTime.
	addSecret func(secrets ...string) // Gets the secrets that the helper prints; may be nil.
}

// access finds the account for a URL.
type access struct {
	accounts fetch.Credentials[*account]
	anyone   *account
	boundary fetch.Boundary
}

// newAccess reads the registries. The error is a *RegistryError.
func newAccess(config FetchConfig, patience time.Duration) (*access, error) {
	anyone, err := newTransports(&account{registry: Registry{Unknown: config.RegistriesUnknown}, patience: patience}, config)
	if err != nil {
		return nil, err
	}
	a := &access{anyone: anyone, boundary: config.Boundary}
	for prefix, registry := range config.Registries {
		added, err := newAccount(prefix, registry, patience, config)
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

// ScopeOf returns the scope of a key of FetchConfig.Registries.
func ScopeOf(prefix string) (fetch.Scope, error) {
	parsed, err := url.Parse(prefix)
	if err != nil || parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" {
		return fetch.Scope{}, errNoPrefix
	}
	at := fetch.ScopeOf(parsed)
	if !slices.Contains([]string{"https", "http", ociScheme}, at.Scheme) {
		return fetch.Scope{}, errNoPrefix
	}
	return at, nil
}

func newAccount(prefix string, registry Registry, patience time.Duration, config FetchConfig) (*account, error) {
	at, err := ScopeOf(prefix)
	if err != nil {
		return nil, err
	}
	if registry.hasTwo() {
		return nil, errTwoWays
	}
	return newTransports(&account{prefix: prefix, at: at, registry: registry, patience: patience}, config)
}

func newTransports(a *account, config FetchConfig) (*account, error) {
	var err error
	if a.own, err = fetch.NewTransport(config.Boundary, config.Trust, a.registry.CABundle, a.registry.Insecure); err != nil {
		return nil, err
	}
	a.foreign, err = fetch.NewTransport(config.Boundary, config.Trust, a.registry.CABundle, false)
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

// admit decides about a chart that a chart or a source names, before any request. name is the name of
// a chart in a repository. In the returned context, the server of a trusted chart is trusted.
func (a *access) admit(ctx context.Context, address, name string) (context.Context, error) {
	at := scopeOf(address)
	admitted, err := a.boundary.Admit(ctx, at, name)
	if err != nil || !admitted.Trusted {
		return ctx, err
	}
	reach, _ := fetch.ReachOf(ctx)
	reach.Named = append(slices.Clip(reach.Named), at)
	return fetch.WithReach(ctx, reach), nil
}

// RoundTrip sends an HTTP request with the credentials for its own URL, so that credentials do
// not follow a redirect.
func (a *access) RoundTrip(request *http.Request) (*http.Response, error) {
	at := fetch.ScopeOf(request.URL)
	by := a.of(at)
	as, err := by.login(request.Context())
	if err != nil {
		return nil, err
	}
	trusted := a.boundary.Trusts(request.Context(), at)
	request = request.Clone(request.Context())
	switch {
	case as.token != "":
		request.Header.Set("Authorization", "Bearer "+as.token)
	case as.username != "" || as.password != "":
		request.SetBasicAuth(as.username, as.password)
	}
	return by.send(request, trusted)
}

// send sends a request as it is, and repeats it when the server is only busy.
func (a *account) send(request *http.Request, trusted bool) (*http.Response, error) {
	if a.registry.Unknown {
		return nil, &UnknownRegistryError{Prefix: a.prefix}
	}
	transport := a.foreign
	if fetch.ScopeOf(request.URL).Host == a.at.Host {
		transport = a.own
	}
	idle := fetch.IdleTransport{Next: transport.To(trusted), After: a.patience, Enough: enough}
	return retry.Transport{Next: idle, Policy: retry.Download(), Repeatable: isRepeatable, Passing: isBusy}.RoundTrip(request)
}

// enough is how many bytes must arrive to restart the idle timeout.
const enough = 16 << 10

// isRepeatable allows every request, because a download changes nothing.
func isRepeatable(*http.Request) bool { return true }

// isBusy reports whether the status of a response means that the server is only busy. A server
// that cannot be reached is not tried again.
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

// refuseDowngrade refuses a redirect from https to http, and more than ten redirects.
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
