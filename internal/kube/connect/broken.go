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

// is reports whether an error in the chain of err has the type E.
func is[E error](err error) bool {
	_, found := errors.AsType[E](err)
	return found
}

// isBrokenOff reports whether a response began and was not complete.
func isBrokenOff(err error) bool {
	broken, found := errors.AsType[*brokenError](err)
	return found && broken.answered
}

// errorTyper wraps errors of connections in a *brokenError. Errors that client-go recognizes by
// comparison stay as they are. So do errors in the response to a watch, which can end at any point.
type errorTyper struct{ wrapper }

func (e errorTyper) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := e.next.RoundTrip(request)
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

func (m markedBody) Read(into []byte) (int, error) {
	n, err := m.ReadCloser.Read(into)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(m.asked.Err(), context.Canceled) {
		return n, err
	}
	return n, &brokenError{err: err, answered: true}
}

func isTyped(err error) bool {
	return is[*tls.CertificateVerificationError](err) || is[x509.UnknownAuthorityError](err) || is[x509.HostnameError](err) ||
		is[x509.CertificateInvalidError](err) || is[*net.OpError](err) || is[*net.DNSError](err) || is[tls.RecordHeaderError](err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}
