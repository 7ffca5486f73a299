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

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
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
	limit   time.Duration
	reading fetch.Group[*credentials]

	mu    sync.Mutex
	known *credentials
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
	if known, err := a.current(); known != nil || err != nil {
		return known, err
	}
	read, err := a.reading.Do(ctx, "", "reading credentials", func(ctx context.Context) (*credentials, error) {
		if known, err := a.current(); known != nil || err != nil { // Read for another request since.
			return known, err
		}
		limited, cancel := context.WithTimeout(ctx, a.limit)
		defer cancel()
		got, err := a.read(limited)
		a.finish(got, err, errors.Is(limited.Err(), context.DeadlineExceeded))
		return got, err
	})
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return read, err
}

// current returns the credentials while they are valid, or the error that is not to be waited for twice.
// It returns neither if credentials have to be read.
func (a *authenticator) current() (*credentials, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.known.isValid():
		return a.known, nil
	case time.Now().Before(a.retry):
		return nil, a.failure
	}
	return nil, nil // nothing is known
}

func (a *authenticator) finish(got *credentials, err error, late bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		if late {
			a.failure, a.retry = err, time.Now().Add(a.limit)
		}
		return
	}
	renewed := a.known != nil && !isSameCertificate(a.known.certificate, got.certificate)
	a.known = got
	if renewed {
		a.connections.CloseAll()
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
