package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// ConnectError reports that there is no connection to an address that is not public. The text is the
// same if the connection was refused and if it failed: authors must not learn what listens there.
type ConnectError struct {
	Address string // As requested, not as resolved.
}

func (e *ConnectError) Error() string {
	return fmt.Sprintf("there is no connection to %s: its address is not public; it may be down, "+
		"and it is reached only if git, registries or sources names it", e.Address)
}

var errNotPublic = errors.New("the address is not public")

// network is the kind of network that an address belongs to.
type network int

const (
	public network = iota
	// private has the addresses of companies.
	private
	// local has the machine itself, its link, and servers with the credentials of a machine.
	local
)

// networkOf returns the network of an address. An IPv4 address may be written as an IPv6 address.
func networkOf(address netip.Addr) network {
	address = address.Unmap().WithZone("")
	within := func(prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return netip.MustParsePrefix(p).Contains(address) })
	}
	switch {
	case within("64:ff9b::/96", "::/96") && !address.IsLoopback() && !address.IsUnspecified(): // With an IPv4 address at the end.
		bytes := address.As16()
		return networkOf(netip.AddrFrom4([4]byte(bytes[12:])))
	case !address.IsValid(), address.IsLoopback(), address.IsLinkLocalUnicast(), address.IsMulticast(), address.IsUnspecified(),
		within("0.0.0.0/8", "255.255.255.255/32"),
		// The metadata of AWS, Google Cloud, Alibaba Cloud, Oracle Cloud and Azure.
		within("fd00:ec2::/32", "fd20:ce::254/128", "100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32"):
		return local
	case address.IsPrivate(), within("100.64.0.0/10"):
		return private
	}
	return public
}

// refuses reports whether an address needs to be named.
func (b Boundary) refuses(address netip.Addr) bool {
	of := networkOf(address)
	return of == local || of == private && b.RefusesPrivate
}

// dialTimeout is for servers that need not be named.
const dialTimeout = 10 * time.Second

// Dial connects to a server. If the server is not trusted, its resolved address is checked before the
// connection, so that a name cannot be resolved to another address after the check. The error is then
// a *ConnectError for all addresses that are not public.
func (b Boundary) Dial(ctx context.Context, trusted bool, address string) (net.Conn, error) {
	if trusted {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	dialer := net.Dialer{Timeout: dialTimeout, Control: func(_, resolved string, _ syscall.RawConn) error {
		parsed, err := netip.ParseAddrPort(resolved)
		if err != nil || b.refuses(parsed.Addr()) {
			return errNotPublic
		}
		return nil
	}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	failed, _ := errors.AsType[*net.OpError](err)
	if errors.Is(err, errNotPublic) || failed != nil && !isPublic(failed.Addr) {
		return nil, &ConnectError{Address: address}
	}
	return conn, err
}

// CheckName refuses an IP address for a server behind a proxy. The proxy resolves names.
func (b Boundary) CheckName(host, address string) error {
	if parsed, err := netip.ParseAddr(host); err == nil && b.refuses(parsed) {
		return &ConnectError{Address: address}
	}
	return nil
}

// isPublic reports whether an address of a connection is public, or not known.
func isPublic(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return !ok || networkOf(tcp.AddrPort().Addr()) == public
}

// Transport sends HTTP requests within a Boundary.
type Transport struct {
	boundary Boundary
	// open reaches all addresses, and guarded those that need not be named. guarded uses no proxy.
	open, guarded *http.Transport
}

// NewTransport makes a transport that takes proxies from the environment. It trusts the
// certificates of caBundle, in PEM, besides those of trust, or any if insecure is set. The
// error is ErrNoCertificate.
func NewTransport(boundary Boundary, trust Trust, caBundle []byte, insecure bool) (*Transport, error) {
	open, err := newTransport(trust, caBundle, insecure)
	guarded := open.Clone()
	guarded.Proxy = nil
	guarded.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		return boundary.Dial(ctx, false, address)
	}
	return &Transport{boundary: boundary, open: open, guarded: guarded}, err
}

// CloseIdleConnections closes connections that no request uses.
func (t *Transport) CloseIdleConnections() {
	t.open.CloseIdleConnections()
	t.guarded.CloseIdleConnections()
}

// RoundTrip sends a request.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	return t.To(t.boundary.Trusts(request.Context(), ScopeOf(request.URL))).RoundTrip(request)
}

// To returns the transport for a server that is trusted or not.
func (t *Transport) To(trusted bool) http.RoundTripper {
	if trusted {
		return t.open
	}
	return untrusted{t}
}

// untrusted sends requests to servers that are not trusted.
type untrusted struct{ *Transport }

// RoundTrip implements http.RoundTripper.
func (u untrusted) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := u.boundary.CheckName(request.URL.Hostname(), request.URL.Host); err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
	if proxy, err := http.ProxyFromEnvironment(request); err != nil || proxy != nil {
		return u.open.RoundTrip(request)
	}
	var hidden atomic.Bool // What the server sends instead of a response may name a program.
	ctx := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) { hidden.Store(!isPublic(got.Conn.RemoteAddr())) },
	})
	response, err := u.guarded.RoundTrip(request.WithContext(ctx))
	if err != nil && hidden.Load() && ctx.Err() == nil {
		return nil, &ConnectError{Address: request.URL.Host}
	}
	return response, err
}
