package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/connrotation"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

// credentials sign requests. Credentials without an expiry are valid until a server refuses them.
type credentials struct {
	token       string
	certificate *tls.Certificate
	expires     time.Time
}

func (c *credentials) isValid() bool {
	return c != nil && (c.expires.IsZero() || time.Now().Before(c.expires))
}

// authenticator reads credentials when a request needs them, once for all requests that wait for
// them. client-go has two authenticators, both without limits. One runs a command for any time and
// with any output, and the other reads a file of any size.
type authenticator struct {
	read func(context.Context) (*credentials, error)
	// limit is how long one reading may take.
	limit time.Duration

	mu      sync.Mutex
	known   *credentials
	running *reading
	// failure is returned until the time retry, so that no caller waits twice for a command that
	// does not end.
	failure error
	retry   time.Time

	// connections tracks the open connections. They are closed when the certificate changes.
	connections *connrotation.ConnectionTracker
	// dial and certificate are pointers, because client-go compares transports by these addresses.
	dial        *transport.DialHolder
	certificate *transport.GetCertHolder
}

// reading is one reading of credentials.
type reading struct {
	done   chan struct{}
	cancel context.CancelFunc
	// waiting are the requests that need its result.
	waiting int

	got *credentials
	err error
}

// newAuthenticator makes an authenticator that reads credentials with read, for at most limit.
func newAuthenticator(limit time.Duration, read func(context.Context) (*credentials, error)) *authenticator {
	const timeout = 30 * time.Second // as client-go
	a := &authenticator{read: read, limit: limit, connections: connrotation.NewConnectionTracker()}
	dialer := &net.Dialer{Timeout: timeout, KeepAlive: timeout}
	a.dial = &transport.DialHolder{Dial: connrotation.NewDialerWithTracker(dialer.DialContext, a.connections).DialContext}
	a.certificate = &transport.GetCertHolder{GetCert: a.lastCertificate}
	return a
}

// install makes a transport use the credentials. They can contain a certificate.
func (a *authenticator) install(on *transport.Config) {
	on.Wrap(a.wrap)
	on.TLS.GetCertHolder, on.DialHolder = a.certificate, a.dial
}

func (a *authenticator) wrap(next http.RoundTripper) http.RoundTripper {
	return credentialTransport{wrapper: wrapper{next}, by: a}
}

// lastCertificate returns the certificate of the current credentials. The request that opens a
// connection has read them before.
func (a *authenticator) lastCertificate() (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		return nil, nil // client-go treats nil as no certificate
	}
	return a.known.certificate, nil
}

// credentials returns the current credentials while they are valid, and otherwise reads new ones.
func (a *authenticator) credentials(ctx context.Context) (*credentials, error) {
	a.mu.Lock()
	if a.known.isValid() {
		defer a.mu.Unlock()
		return a.known, nil
	}
	if time.Now().Before(a.retry) {
		defer a.mu.Unlock()
		return nil, a.failure
	}
	if a.running == nil {
		a.begin(ctx)
	}
	joined := a.running
	joined.waiting++
	a.mu.Unlock()
	select {
	case <-joined.done:
		return joined.got, joined.err
	case <-ctx.Done():
		a.leave(joined)
		return nil, context.Cause(ctx)
	}
}

// begin starts a reading for all requests that wait. The end of one request does not cancel the
// reading, because others may still wait for it.
func (a *authenticator) begin(by context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(by), a.limit)
	begun := &reading{done: make(chan struct{}), cancel: cancel}
	a.running = begun
	go func() {
		defer cancel()
		begun.err = panics.Recovering("reading credentials", func() (err error) {
			begun.got, err = a.read(ctx)
			return err
		})()
		a.finish(begun, errors.Is(ctx.Err(), context.DeadlineExceeded))
		close(begun.done)
	}()
}

func (a *authenticator) finish(ended *reading, late bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running != ended {
		return // No request waits for it any more.
	}
	a.running = nil
	if ended.err != nil {
		if late {
			a.failure, a.retry = ended.err, time.Now().Add(a.limit)
		}
		return
	}
	renewed := a.known != nil && !isSameCertificate(a.known.certificate, ended.got.certificate)
	a.known = ended.got
	if renewed {
		a.connections.CloseAll()
	}
}

// leave stops waiting for a reading. A reading that no request waits for is cancelled.
func (a *authenticator) leave(left *reading) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if left.waiting--; left.waiting > 0 {
		return
	}
	left.cancel()
	if a.running == left {
		a.running = nil
	}
}

// refused marks credentials as expired after a server has refused them, so that the next request
// reads them again.
func (a *authenticator) refused(used *credentials) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == used {
		used.expires = time.Unix(0, 0)
	}
}

func isSameCertificate(a, b *tls.Certificate) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Leaf.Equal(b.Leaf)
}

// credentialTransport is a transport that signs requests.
type credentialTransport struct {
	wrapper
	by *authenticator
}

func (c credentialTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Header.Get("Authorization") != "" {
		return c.next.RoundTrip(request)
	}
	signedBy, err := c.by.credentials(request.Context())
	if err != nil {
		return nil, err
	}
	if signedBy.token != "" {
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+signedBy.token)
	}
	response, err := c.next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		c.by.refused(signedBy)
	}
	return response, err
}

// timeoutTransport is a transport that limits the time of a request, counted from when it is
// signed. The time of a command that prints the credentials does not count.
type timeoutTransport struct {
	wrapper
	limit time.Duration
}

func (t timeoutTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Has("watch") {
		return t.next.RoundTrip(request)
	}
	ctx, cancel := context.WithTimeout(request.Context(), t.limit)
	response, err := t.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = timedBody{ReadCloser: response.Body, cancel: cancel}
	return response, nil
}

type timedBody struct {
	io.ReadCloser

	cancel context.CancelFunc
}

func (t timedBody) Close() error {
	defer t.cancel()
	return t.ReadCloser.Close()
}
