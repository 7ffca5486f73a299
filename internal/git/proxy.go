package git

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

const (
	// proxyTimeout is for the answer of a proxy, which connects to the server first.
	proxyTimeout = 30 * time.Second
	maxHeader    = 16 << 10
)

// dialHost connects to a server of ssh: through the proxy that ALL_PROXY names, unless NO_PROXY excepts
// the server. The proxy speaks HTTP, HTTP over TLS or SOCKS5, by the scheme of its URL. A server on this
// machine is never reached through a proxy that speaks HTTP.
func (a access) dialHost(ctx context.Context, server string) (net.Conn, error) {
	all := cmp.Or(os.Getenv("ALL_PROXY"), os.Getenv("all_proxy"))
	by, err := url.Parse(all)
	if err != nil || by.Scheme != "http" && by.Scheme != "https" {
		return proxy.Dial(ctx, "tcp", server)
	}
	environment := httpproxy.Config{HTTPSProxy: all, NoProxy: cmp.Or(os.Getenv("NO_PROXY"), os.Getenv("no_proxy"))}
	by, err = environment.ProxyFunc()(&url.URL{Scheme: "https", Host: server})
	if err != nil {
		return nil, fmt.Errorf("reading ALL_PROXY: %w", err)
	}
	if by == nil {
		return (&net.Dialer{}).DialContext(ctx, "tcp", server)
	}
	ctx, cancel := context.WithTimeout(ctx, proxyTimeout)
	defer cancel()
	conn, err := a.connect(ctx, by, server)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s through the proxy %s://%s: %w", server, by.Scheme, by.Host, err)
	}
	return conn, nil
}

// connect asks a proxy for a tunnel.
func (a access) connect(ctx context.Context, by *url.URL, server string) (net.Conn, error) {
	conn, err := a.dialProxy(ctx, by)
	if err != nil {
		return nil, err
	}
	release := context.AfterFunc(ctx, func() { _ = conn.Close() })
	tunnel, err := openTunnel(ctx, conn, by.User, server)
	if !release() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return tunnel, nil
}

func (a access) dialProxy(ctx context.Context, by *url.URL) (net.Conn, error) {
	if by.Scheme == "http" {
		return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(by.Hostname(), cmp.Or(by.Port(), "80")))
	}
	return fetch.DialTLS(ctx, a.trust, net.JoinHostPort(by.Hostname(), cmp.Or(by.Port(), "443")))
}

func openTunnel(ctx context.Context, conn net.Conn, user *url.Userinfo, server string) (net.Conn, error) {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: server}, Host: server, Header: http.Header{}}
	if user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := request.WithContext(ctx).Write(conn); err != nil {
		return nil, err
	}
	// The server speaks only when it is spoken to after this, or its first bytes come with the header.
	limited := &io.LimitedReader{R: conn, N: maxHeader}
	reader := bufio.NewReader(limited)
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("it responded with %s", strings.TrimSpace(response.Status))
	}
	early, err := reader.Peek(reader.Buffered())
	if err != nil {
		return nil, err
	}
	return &tunnelConn{Conn: conn, reader: io.MultiReader(strings.NewReader(string(early)), conn)}, nil
}

// A tunnelConn reads first what came with the header of the proxy.
type tunnelConn struct {
	net.Conn

	reader io.Reader
}

func (c *tunnelConn) Read(p []byte) (int, error) { return c.reader.Read(p) }
