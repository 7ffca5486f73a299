package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// brokenError is an error of a connection: an error without a type of its own, such as those of
// HTTP/2, or an error in the middle of a response.
type brokenError struct {
	err error
	// answered is true if the response had begun.
	answered bool
}

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

func isBroken(err error) bool {
	_, is := errors.AsType[*brokenError](err)
	return is
}

// isBrokenOff reports whether a response began and was not complete.
func isBrokenOff(err error) bool {
	broken, is := errors.AsType[*brokenError](err)
	return is && broken.answered
}

// errorTyper wraps errors of connections in a *brokenError. Errors that client-go recognizes by
// comparison stay as they are. So do errors in the response to a watch, which can end at any point.
type errorTyper struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the transport below.
func (m errorTyper) WrappedRoundTripper() http.RoundTripper { return m.next }

func (m errorTyper) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := m.next.RoundTrip(request)
	if err == nil {
		if !request.URL.Query().Has("watch") {
			response.Body = markedBody{ReadCloser: response.Body, asked: request.Context()}
		}
		return response, nil
	}
	if isTyped(err) || request.Context().Err() != nil {
		return response, err
	}
	return response, &brokenError{err: err}
}

// markedBody is a response that may break off.
type markedBody struct {
	io.ReadCloser
	asked context.Context //nolint:containedctx // the context of the request, which ends with the response
}

func (b markedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(b.asked.Err(), context.Canceled) {
		return n, err
	}
	return n, &brokenError{err: err, answered: true}
}

func isTyped(err error) bool {
	var (
		operation   *net.OpError
		lookup      *net.DNSError
		untrusted   *tls.CertificateVerificationError
		foreign     x509.UnknownAuthorityError
		other       x509.HostnameError
		invalid     x509.CertificateInvalidError
		noTLS       tls.RecordHeaderError
		certificate = errors.As(err, &untrusted) || errors.As(err, &foreign) || errors.As(err, &other) || errors.As(err, &invalid)
	)
	return certificate || errors.As(err, &operation) || errors.As(err, &lookup) || errors.As(err, &noTLS) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}
