package kube

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

// Classify gives an error of a request to a cluster its type: a
// *status.UnreachableError when no API server answered, a *status.DeniedError
// when it refused or wanted to redirect, a *status.BusyError when it could not just
// then or did not come to the end of its response. Any other error, nil included, stays
// as it is: a certificate that is not trusted, as a server did respond, a
// *TooLargeError, as the same response would come again, credentials that could not be
// had, as nobody was asked, and a request that was cancelled.
func Classify(cluster string, err error) error {
	switch {
	case err == nil, isClassified(err):
		return err
	case IsDenied(err), isCertificateRejected(err), isRedirected(err):
		return &status.DeniedError{Cluster: cluster, Err: err}
	case isUnreachable(err):
		return &status.UnreachableError{Cluster: cluster, Err: err}
	case isBusy(err):
		return &status.BusyError{Cluster: cluster, Err: err}
	}
	return err
}

// IsDenied says whether an API server refused a request with 401 or 403.
func IsDenied(err error) bool {
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err)
}

func isClassified(err error) bool {
	var (
		unreachable *status.UnreachableError
		denied      *status.DeniedError
		busy        *status.BusyError
	)
	return errors.As(err, &unreachable) || errors.As(err, &denied) || errors.As(err, &busy)
}

// isBusy knows responses of an API server that can be others a moment later, and those
// that broke off. That an object exists already is not among them, although it is a
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
	return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError || apierrors.IsConflict(err)
}

// isCertificateRejected says whether a server broke the connection off with a TLS alert,
// which it does when it does not accept a client's certificate. The alert itself
// has a type that crypto/tls keeps to itself; it is known by its operation
// (crypto/tls/conn.go, readRecordOrCCS).
func isCertificateRejected(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && operation.Op == "remote error"
}

// isRedirected says whether a request was answered by a redirect. A proxy that asks for a
// new login does so, and whatever else has taken the place of a cluster.
func isRedirected(err error) bool {
	_, is := errors.AsType[*RedirectError](err)
	return is
}

// isUnreachable knows failures of the network and responses of a gateway that
// stands before the API server.
func isUnreachable(err error) bool {
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
	var (
		operation *net.OpError
		lookup    *net.DNSError
	)
	return errors.As(err, &operation) || errors.As(err, &lookup) || isBroken(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsHTTP2ConnectionLost(err)
}
