package kube

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

// brokenError is an error of a connection that has no type of its own, as those of
// HTTP/2 in net/http.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// marking gives errors of connections a type. Those that client-go knows by
// comparing stay as they are.
type marking struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the transport below.
func (m marking) WrappedRoundTripper() http.RoundTripper { return m.next }

func (m marking) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := m.next.RoundTrip(request)
	if err == nil || isKnown(err) || request.Context().Err() != nil {
		return response, err
	}
	return response, &brokenError{err: err}
}

func isKnown(err error) bool {
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
