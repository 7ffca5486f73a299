package connect

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Classify gives the error of a request to a cluster a type. A *status.UnreachableError means that
// no API server responded. A *status.DeniedError means that a server refused the request or
// redirected it: a proxy that requires a new login redirects, and so does another server at the
// address of the cluster. A *status.BusyError means that the server could not process the request at that
// time, or did not complete its response.
//
// Any other error, nil included, stays as it is. Examples are an untrusted certificate, because a
// server did respond, and a *TooLargeError, because the next response would be as large.
// Credentials that could not be read are another example, because no request was sent. So is a
// cancelled request, and a *status.ExhaustedError.
func Classify(cluster string, err error) error {
	switch {
	case err == nil, isClassified(err):
		return err
	case IsDenied(err), isCertificateRejected(err), is[*RedirectError](err):
		return &status.DeniedError{Cluster: cluster, Err: err}
	case IsUnreachable(err):
		return &status.UnreachableError{Cluster: cluster, Err: err}
	case isBusy(err):
		return &status.BusyError{Cluster: cluster, Err: err}
	}
	return err
}

// IsDenied reports whether an API server refused a request with 401 or 403.
func IsDenied(err error) bool {
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err)
}

func isClassified(err error) bool {
	return is[*status.UnreachableError](err) || is[*status.DeniedError](err) || is[*status.BusyError](err) || is[*status.ExhaustedError](err)
}

// isBusy reports whether the API server may accept the same request a moment later, or did not
// complete its response. The error that an object exists already is not included, although it is a
// conflict too.
func isBusy(err error) bool {
	if isBrokenOff(err) {
		return true
	}
	answer := apierrors.APIStatus(nil)
	if !errors.As(err, &answer) {
		return false
	}
	code := answer.Status().Code
	return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError && !isLasting(int(code)) || apierrors.IsConflict(err)
}

// isLasting reports whether a server cannot process the same request later either. It lacks
// something that only people can change.
func isLasting(code int) bool {
	switch code {
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported, http.StatusVariantAlsoNegotiates,
		http.StatusInsufficientStorage, http.StatusLoopDetected, http.StatusNotExtended, http.StatusNetworkAuthenticationRequired:
		return true
	}
	return false
}

// isCertificateRejected reports whether a server closed the connection with a TLS alert. A server
// does so when it rejects the certificate of a client. crypto/tls does not export the type of the
// alert, so the alert is recognized by its operation (crypto/tls/conn.go, readRecordOrCCS).
func isCertificateRejected(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && operation.Op == "remote error"
}

// IsUnreachable reports whether a request failed in the network or at a gateway in front of the API
// server.
func IsUnreachable(err error) bool {
	if answer := apierrors.APIStatus(nil); errors.As(err, &answer) {
		switch answer.Status().Code {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	if errors.Is(err, context.Canceled) || isBrokenOff(err) {
		return false
	}
	if request, ok := errors.AsType[*url.Error](err); ok && request.Timeout() {
		return true
	}
	return is[*net.OpError](err) || is[*net.DNSError](err) || is[*brokenError](err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsHTTP2ConnectionLost(err)
}
