package kube

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Classify gives an error of a request to a cluster its type: a
// *status.UnreachableError when no API server answered, a *status.DeniedError
// when it refused. Any other error, nil included, stays as it is. A certificate
// that is not trusted is an error of its own: somebody did answer.
func Classify(cluster string, err error) error {
	switch {
	case err == nil, isClassified(err), isUntrusted(err):
		return err
	case IsDenied(err):
		return &status.DeniedError{Cluster: cluster, Err: err}
	case isUnreachable(err):
		return &status.UnreachableError{Cluster: cluster, Err: err}
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
	)
	return errors.As(err, &unreachable) || errors.As(err, &denied)
}

func isUntrusted(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		authority    x509.UnknownAuthorityError
		hostname     x509.HostnameError
		invalid      x509.CertificateInvalidError
	)
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &hostname) || errors.As(err, &invalid)
}

// isUnreachable knows failures of the network and answers of a gateway that
// stands before the API server.
func isUnreachable(err error) bool {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		switch answer.Status().Code {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	var (
		request *url.Error
		network net.Error
	)
	return errors.As(err, &request) || errors.As(err, &network)
}
