package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"iter"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Scope has the parts of a URL that decide which credentials the URL gets.
type Scope struct {
	Scheme string
	// User is "" for any user, in a prefix.
	User string
	// Host is in lower case, with its port unless that is the standard one.
	Host string

	// resolved has the segments of the path for a server that decodes "%2F" and resolves "..".
	// literal has the segments for a server that does neither.
	resolved, literal []string
}

// NewScope makes the scope of a path that is not encoded.
func NewScope(scheme, user, host, path string) Scope {
	return Scope{Scheme: scheme, User: user, Host: host, resolved: resolve(path), literal: split(path)}
}

// ScopeOf returns the scope of a URL. Two spellings of one URL have the same scope.
func ScopeOf(u *url.URL) Scope {
	scheme := strings.ToLower(u.Scheme)
	standard := map[string]string{"http": "80", "https": "443", "oci": "443", "ssh": "22"}[scheme]
	host := strings.ToLower(u.Hostname())
	if port := u.Port(); port != "" && port != standard {
		host += ":" + port
	}
	scope := Scope{Scheme: scheme, User: u.User.Username(), Host: host, resolved: resolve(u.Path), literal: split(u.EscapedPath())}
	for i, segment := range scope.literal {
		if decoded, err := url.PathUnescape(segment); err == nil {
			scope.literal[i] = decoded
		}
	}
	return scope
}

func resolve(p string) []string { return split(path.Clean("/" + p)) }

// split returns the segments of a path. Doubled slashes count as one.
func split(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
}

// Segments returns the segments of the path.
func (s Scope) Segments() []string { return s.resolved }

// Covers reports whether other is below s, in both ways in which a server may read the path:
// host/acme covers host/acme/web, and not host/acme-evil.
func (s Scope) Covers(other Scope) bool {
	return s.isOfServer(other) && begins(other.resolved, s.resolved) && begins(other.literal, s.literal)
}

func (s Scope) isOfServer(other Scope) bool {
	return s.Scheme == other.Scheme && s.Host == other.Host && (s.User == "" || s.User == other.User)
}

func begins(segments, with []string) bool {
	return len(with) <= len(segments) && slices.Equal(with, segments[:len(with)])
}

// Credentials maps prefixes of URLs to values. The zero value is empty.
type Credentials[V any] struct {
	entries []entry[V]
}

type entry[V any] struct {
	prefix string
	scope  Scope
	value  V
}

// Add adds the value for URLs below scope. prefix is the written form of scope. Of two prefixes
// for the same URLs, the one that sorts first is used.
func (c *Credentials[V]) Add(prefix string, scope Scope, value V) {
	c.entries = append(c.entries, entry[V]{prefix, scope, value})
}

// Find returns the value of the longest prefix of a URL. A path that can be read in two ways has
// no value if the two have different longest prefixes: they may be served by different parties.
func (c *Credentials[V]) Find(at Scope) (value V, ok bool) {
	resolved := c.longest(at, func(s Scope) []string { return s.resolved })
	literal := c.longest(at, func(s Scope) []string { return s.literal })
	if resolved == nil || resolved != literal {
		return value, false
	}
	return resolved.value, true
}

func (c *Credentials[V]) longest(at Scope, segments func(Scope) []string) *entry[V] {
	var found *entry[V]
	for i := range c.entries {
		candidate := &c.entries[i]
		if candidate.scope.isOfServer(at) && begins(segments(at), segments(candidate.scope)) &&
			(found == nil || candidate.isBefore(*found, segments)) {
			found = candidate
		}
	}
	return found
}

func (e entry[V]) isBefore(other entry[V], segments func(Scope) []string) bool {
	own, others := len(segments(e.scope)), len(segments(other.scope))
	if own != others {
		return own > others
	}
	if len(e.scope.User) != len(other.scope.User) {
		return len(e.scope.User) > len(other.scope.User)
	}
	return e.prefix < other.prefix
}

// All returns all values.
func (c *Credentials[V]) All() iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, e := range c.entries {
			if !yield(e.value) {
				return
			}
		}
	}
}

// ErrNoCertificate reports that a bundle of certificates contains none.
var ErrNoCertificate = errors.New("ca_bundle contains no certificate in PEM")

// Trust has the authorities that are trusted for the certificates of every server and every
// proxy.
type Trust struct {
	// CABundle has certificates of authorities in PEM; "" adds none to those of the machine.
	CABundle string
	// WithoutSystemRoots leaves the certificates of the machine out.
	WithoutSystemRoots bool
}

// roots returns the certificates of t and of more, which is in PEM. The result is nil for the
// certificates of the machine alone. The error is ErrNoCertificate.
func (t Trust) roots(more []byte) (*x509.CertPool, error) {
	if len(t.CABundle) == 0 && len(more) == 0 && !t.WithoutSystemRoots {
		return nil, nil // as in tls.Config
	}
	roots := x509.NewCertPool()
	if !t.WithoutSystemRoots {
		if system, err := x509.SystemCertPool(); err == nil {
			roots = system
		}
	}
	for _, bundle := range [][]byte{[]byte(t.CABundle), more} {
		if len(bundle) > 0 && !roots.AppendCertsFromPEM(bundle) {
			return nil, ErrNoCertificate
		}
	}
	return roots, nil
}

// Check parses the certificates. The error is ErrNoCertificate.
func (t Trust) Check() error {
	_, err := t.roots(nil)
	return err
}

// DialTLS connects to a server, for example to the proxy "proxy.example.com:443".
func DialTLS(ctx context.Context, trust Trust, address string) (net.Conn, error) {
	roots, err := trust.roots(nil)
	if err != nil {
		return nil, err
	}
	dialer := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}
	return dialer.DialContext(ctx, "tcp", address)
}

// newTransport is NewTransport for all addresses.
func newTransport(trust Trust, caBundle []byte, insecure bool) (*http.Transport, error) {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		base = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	base = base.Clone()
	base.TLSClientConfig = &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: insecure, //nolint:gosec // Only when the user sets it.
	}
	var err error
	base.TLSClientConfig.RootCAs, err = trust.roots(caBundle)
	return base, err
}
