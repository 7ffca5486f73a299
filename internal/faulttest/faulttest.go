// Package faulttest provides a proxy between a client and a real API server that disturbs their
// communication. Rules disturb single requests, and disturbances the network. It is for tests and
// measurements.
package faulttest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Rule selects the fault for a request. It is called by many requests at once.
type Rule func(request *http.Request) Fault

// Fault is what happens to one request. The zero value lets it pass.
type Fault struct {
	// Before runs first, for example to hold the request or to kill the process that sent it.
	Before func(request *http.Request)
	// Status, if set, is the status of the response: the request does not reach the API server.
	Status int
	// Empty responds with a list without items: the request does not reach the API server.
	Empty bool
	// Cut resets the connection before the request reaches the API server.
	Cut bool
	// After runs when the API server has responded, before the client gets the response.
	After func(request *http.Request)
	// Lose resets the connection after the API server has responded.
	Lose bool
}

// Proxy is an HTTPS proxy in front of one API server. Watches pass through it. It changes nothing
// of a request but its host.
type Proxy struct {
	server    *httptest.Server
	network   *network
	rule      atomic.Pointer[Rule]
	forward   *httputil.ReverseProxy
	transport *http.Transport

	mu        sync.Mutex
	served    int
	recording bool
	calls     []Call
}

// Server is the API server behind a proxy.
type Server interface {
	Host() string
	CACertificate() []byte
}

// New starts a proxy, which is closed at the end of the test.
func New(tb testing.TB, server Server) *Proxy {
	tb.Helper()
	p, err := Start(server)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}

// Start starts a proxy, which runs until Close.
func Start(server Server) (*Proxy, error) {
	behind, err := url.Parse(server.Host())
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(server.CACertificate())
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}
	p := &Proxy{network: &network{}, transport: transport}
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(request *httputil.ProxyRequest) { request.SetURL(behind) },
		Transport:     transport,
		FlushInterval: -1, // A watch delivers each event at once.
		ErrorLog:      log.New(io.Discard, "", 0),
		// The client sees a reset connection, as if there were no proxy.
		ErrorHandler: func(_ http.ResponseWriter, request *http.Request, _ error) { breakOff(request) },
	}
	p.server = httptest.NewUnstartedServer(p)
	p.server.Listener = p.network.disturb(p.server.Listener)
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.server.Config.ConnContext = remember
	p.server.StartTLS()
	return p, nil
}

// Close resets open connections and ends the proxy.
func (p *Proxy) Close() {
	p.network.close()
	p.server.CloseClientConnections()
	p.server.Close()
	p.transport.CloseIdleConnections()
}

// Host returns the address for clients.
func (p *Proxy) Host() string { return p.server.URL }

// CACertificate returns the certificate that a client must trust, in PEM.
func (p *Proxy) CACertificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
}

// Set sets the rule for all requests from now on; nil lets everything pass.
func (p *Proxy) Set(rule Rule) { p.rule.Store(&rule) }

// Served returns how many requests the proxy has received so far.
func (p *Proxy) Served() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.served
}

// ServeHTTP serves one request of a client.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	p.mu.Lock()
	p.served++
	p.mu.Unlock()
	w, done := p.recorded(w, request)
	defer done()
	if err := readBody(request); err != nil {
		breakOff(request)
	}
	fault := p.fault(request)
	if fault.Before != nil {
		fault.Before(request)
	}
	switch {
	case fault.Cut:
		breakOff(request)
	case fault.Status != 0:
		if fault.Status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1") // Like an API server that limits its clients.
		}
		answer(w, fault.Status, status(fault.Status))
		return
	case fault.Empty:
		answer(w, http.StatusOK, emptyList(request))
		return
	case fault.After == nil && !fault.Lose:
		p.forward.ServeHTTP(w, request)
		return
	}
	held := httptest.NewRecorder()
	p.forward.ServeHTTP(held, request)
	if fault.After != nil {
		fault.After(request)
	}
	if fault.Lose {
		breakOff(request)
	}
	maps.Copy(w.Header(), held.Header())
	w.WriteHeader(held.Code)
	// A closed connection of the client is no error of the proxy.
	_, _ = held.Body.WriteTo(w)
}

// readBody reads the body of a request before it is forwarded. An API server denies a request without
// reading its body. With a body that is still arriving, the forwarded response then sometimes does not
// end.
func readBody(request *http.Request) error {
	content, err := io.ReadAll(request.Body)
	if err != nil {
		return fmt.Errorf("reading the body of a request: %w", err)
	}
	request.Body = http.NoBody
	if len(content) > 0 {
		request.Body = io.NopCloser(bytes.NewReader(content))
	}
	return nil
}

func (p *Proxy) fault(request *http.Request) Fault {
	rule := p.rule.Load()
	if rule == nil || *rule == nil {
		return Fault{}
	}
	return (*rule)(request)
}

// connectionKey is the key of the connection of a request in its context.
type connectionKey struct{}

func remember(ctx context.Context, accepted net.Conn) context.Context {
	if secured, ok := accepted.(*tls.Conn); ok {
		accepted = secured.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, accepted)
}

// breakOff resets the connection of a request, and with it all other requests
// that are under way there.
func breakOff(request *http.Request) {
	if c, ok := request.Context().Value(connectionKey{}).(*connection); ok {
		c.reset()
	}
	panic(http.ErrAbortHandler)
}

// status returns the body of an error response, as an API server writes it.
func status(code int) string {
	reasons := map[int]string{
		http.StatusUnauthorized:        "Unauthorized",
		http.StatusForbidden:           "Forbidden",
		http.StatusConflict:            "Conflict",
		http.StatusTooManyRequests:     "TooManyRequests",
		http.StatusInternalServerError: "InternalError",
		http.StatusServiceUnavailable:  "ServiceUnavailable",
	}
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"made by a test","reason":%q,"code":%d}`, reasons[code], code)
}

// emptyList returns a list without items, of the kind that was requested.
func emptyList(request *http.Request) string {
	const partial = "PartialObjectMetadataList"
	if accepts(request, partial) {
		return `{"kind":"` + partial + `","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[]}`
	}
	return `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`
}

func answer(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// A closed connection of the client is no error of the proxy.
	_, _ = io.WriteString(w, body)
}

// Disturb applies a disturbance to the network between client and proxy from now on, also to open
// connections.
func (p *Proxy) Disturb(d Disturbance) error {
	if d.Resets < 0 || d.Resets > 1 {
		return errors.New("the share of resets is not between 0 and 1")
	}
	p.network.set(d)
	return nil
}
