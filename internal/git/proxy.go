package git

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

const (
	// proxyTimeout is for the response of a proxy, which connects to the server first.
	proxyTimeout = 30 * time.Second
	// maxHeader is how many bytes a proxy may send before the tunnel.
	maxHeader = 16 << 10
)

var (
	errProxyURL = errors.New("ALL_PROXY is not the URL of a proxy: http://, https:// or socks5://, a host and a port. " +
		"Escape special characters of a password, such as %23 for #")
	errSilentProxy  = fmt.Errorf("the proxy did not respond within %s", proxyTimeout)
	errStrangeProxy = errors.New("it does not respond as an HTTP proxy does")
)

// dialHost connects to an SSH server, through the proxy that ALL_PROXY names, unless NO_PROXY
// excepts the server. The scheme of the proxy's URL selects HTTP, HTTP over TLS or SOCKS5. A
// server on this machine is never reached through a proxy. A server that is not trusted has to be in a
// network that need not be named.
func (a access) dialHost(ctx context.Context, server string, trusted bool) (net.Conn, error) {
	by, err := sshProxy(server)
	if err != nil {
		return nil, err
	}
	if by == nil {
		return a.boundary.Dial(ctx, trusted, server)
	}
	if host, _, err := net.SplitHostPort(server); err == nil && !trusted {
		if err := a.boundary.CheckName(host, server); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, proxyTimeout, errSilentProxy)
	defer cancel()
	conn, err := a.dialThrough(ctx, by, server)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s through the proxy %s://%s: %w", server, by.Scheme, by.Host, err)
	}
	return conn, nil
}

// sshProxy returns the proxy for a server, nil for none.
func sshProxy(server string) (*url.URL, error) {
	all := cmp.Or(os.Getenv("ALL_PROXY"), os.Getenv("all_proxy"))
	if all == "" {
		return nil, nil // as in net/http
	}
	if !strings.Contains(all, "://") {
		all = "http://" + all // As for HTTPS_PROXY.
	}
	by, err := url.Parse(all)
	if err != nil || by.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, by.Scheme) {
		return nil, errProxyURL // Without the URL, which can contain a password.
	}
	excepting := httpproxy.Config{HTTPSProxy: all, NoProxy: cmp.Or(os.Getenv("NO_PROXY"), os.Getenv("no_proxy"))}
	if used, err := excepting.ProxyFunc()(&url.URL{Scheme: "https", Host: server}); err != nil || used == nil {
		return nil, err
	}
	return by, nil
}

func (a access) dialThrough(ctx context.Context, by *url.URL, server string) (net.Conn, error) {
	address := net.JoinHostPort(by.Hostname(), cmp.Or(by.Port(), map[string]string{"http": "80", "https": "443"}[by.Scheme], "1080"))
	switch by.Scheme {
	case "http":
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return connect(ctx, conn, by.User, server)
	case "https":
		conn, err := fetch.DialTLS(ctx, a.trust, address)
		if invalid, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
			// This is the certificate of the proxy: ca_bundle of the server's entry does not
			// apply.
			return nil, errors.New(invalid.Error() + "; set ca_bundle in the provider, under tls, to the certificate of the proxy's authority")
		}
		if err != nil {
			return nil, err
		}
		return connect(ctx, conn, by.User, server)
	}
	dialer, err := proxy.FromURL(by, &net.Dialer{})
	if err != nil {
		return nil, err
	}
	if dialer, ok := dialer.(proxy.ContextDialer); ok {
		return dialer.DialContext(ctx, "tcp", server)
	}
	return dialer.Dial("tcp", server)
}

// connect requests a tunnel from an HTTP proxy.
func connect(ctx context.Context, conn net.Conn, user *url.Userinfo, server string) (net.Conn, error) {
	release := context.AfterFunc(ctx, func() { _ = conn.Close() })
	tunnel, err := openTunnel(conn, user, server)
	if !release() {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return tunnel, nil
}

// openTunnel leaves the proxy's own text out of errors: the text may contain the password of the
// proxy.
func openTunnel(conn net.Conn, user *url.Userinfo, server string) (net.Conn, error) {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: server}, Host: server, Header: http.Header{}}
	if user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := request.Write(conn); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(&io.LimitedReader{R: conn, N: maxHeader})
	status := http.StatusContinue
	for status < http.StatusOK { // Skip the responses with status 1xx.
		// The body is not read: the bytes after the header of a tunnel are sent by the server.
		response, err := http.ReadResponse(reader, request) //nolint:bodyclose // Closing the body would wait for its end.
		if _, broken := errors.AsType[net.Error](err); err != nil && !broken {
			return nil, errStrangeProxy
		}
		if err != nil {
			return nil, err
		}
		status = response.StatusCode
	}
	if status >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("it responded with status %d %s", status, http.StatusText(status))
	}
	early, err := reader.Peek(reader.Buffered())
	if err != nil {
		return nil, err
	}
	return &tunnelConn{Conn: conn, reader: io.MultiReader(bytes.NewReader(early), conn)}, nil
}

// A tunnelConn first reads the data that arrived with the header of the proxy: an SSH server
// sends data before it receives any.
type tunnelConn struct {
	net.Conn

	reader io.Reader
}

func (c *tunnelConn) Read(p []byte) (int, error) { return c.reader.Read(p) }
