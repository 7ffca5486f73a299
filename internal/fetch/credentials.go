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

// Scope is a URL as far as it decides which credentials it gets.
type Scope struct {
	Scheme string
	// User is "" for any, in a prefix.
	User string
	// Host is in lower case, with its port unless that is the standard one.
	Host string

	// resolved is the path, by its segments, for a server that decodes "%2F" and resolves "..";
	// literal is it for one that takes both as they are.
	resolved, literal []string
}

// NewScope makes the scope of a path that is not encoded.
func NewScope(scheme, user, host, path string) Scope {
	return Scope{Scheme: scheme, User: user, Host: host, resolved: resolve(path), literal: split(path)}
}

// ScopeOf reads a URL. Two spellings of one URL have the same scope.
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

// split returns the segments of a path. Doubled slashes are one.
func split(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
}

// Segments are those of the path.
func (s Scope) Segments() []string { return s.resolved }

// Covers reports whether other lies below s, however a server reads its path: host/acme covers
// host/acme/web, and not host/acme-evil.
func (s Scope) Covers(other Scope) bool {
	return s.isOfServer(other) && begins(other.resolved, s.resolved) && begins(other.literal, s.literal)
}

func (s Scope) isOfServer(other Scope) bool {
	return s.Scheme == other.Scheme && s.Host == other.Host && (s.User == "" || s.User == other.User)
}

func begins(segments, with []string) bool {
	return len(with) <= len(segments) && slices.Equal(with, segments[:len(with)])
}

// Credentials are values by the prefix of the URLs that they are for. Its zero value is empty.
type Credentials[V any] struct {
	entries []entry[V]
}

type entry[V any] struct {
	prefix string
	scope  Scope
	value  V
}

// Add adds the value for URLs below scope. prefix is how the scope is written: of two for the same
// URLs the one that sorts first counts.
func (c *Credentials[V]) Add(prefix string, scope Scope, value V) {
	c.entries = append(c.entries, entry[V]{prefix, scope, value})
}

// Find returns the value for a URL, that of the longest prefix. There is none for a path that
// can be read in two ways, if the longest prefix depends on that: who serves the one need not be
// who serves the other.
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

// ErrNoCertificate says that a bundle of certificates is none.
var ErrNoCertificate = errors.New("ca_bundle contains no certificate in PEM")

// Trust is which authorities sign the certificates of every server and every proxy.
type Trust struct {
	// CABundle has their certificates in PEM, "" for none but those of the machine.
	CABundle string
	// WithoutSystemRoots leaves those of the machine out.
	WithoutSystemRoots bool
}

// roots returns the certificates, and those of more, in PEM. They are nil for those of the machine
// alone. The error is ErrNoCertificate.
func (t Trust) roots(more []byte) (*x509.CertPool, error) {
	if len(t.CABundle) == 0 && len(more) == 0 && !t.WithoutSystemRoots {
		return nil, nil //nolint:nilnil // as in tls.Config
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

// Check reads the certificates. The error is ErrNoCertificate.
func (t Trust) Check() error {
	_, err := t.roots(nil)
	return err
}

// DialTLS connects to a server, such as a proxy, "proxy.example.com:443".
func DialTLS(ctx context.Context, trust Trust, address string) (net.Conn, error) {
	roots, err := trust.roots(nil)
	if err != nil {
		return nil, err
	}
	dialer := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}
	return dialer.DialContext(ctx, "tcp", address)
}

// NewTransport makes a transport that takes proxies from the environment. It trusts the
// certificates of caBundle, in PEM, besides those of trust, or any if insecure is set. The
// error is ErrNoCertificate.
func NewTransport(trust Trust, caBundle []byte, insecure bool) (*http.Transport, error) {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		base = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	base = base.Clone()
	base.TLSClientConfig = &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: insecure, //nolint:gosec // Only when the user asks for it.
	}
	var err error
	base.TLSClientConfig.RootCAs, err = trust.roots(caBundle)
	return base, err
}
