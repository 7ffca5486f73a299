package kube

import (
	"io"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// retrying repeats requests that can be repeated without changing what they do,
// when the answer was that the server could not just then, or there was none because
// the connection broke. client-go repeats others itself: reading where it knows the
// error of the connection, and whatever the server asks to repeat with Retry-After.
// What creates or deletes is left to the caller, who has to look first at what it came
// to.
type retrying struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the transport below.
func (r retrying) WrappedRoundTripper() http.RoundTripper { return r.next }

func (r retrying) RoundTrip(request *http.Request) (*http.Response, error) {
	if !isRepeatable(request) {
		return r.next.RoundTrip(request)
	}
	const tries, shortest = 4, 100 * time.Millisecond
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = shortest
	var (
		response *http.Response
		failure  error
	)
	_, _ = backoff.Retry(request.Context(), func() (struct{}, error) { //nolint:contextcheck // the request carries it
		if response != nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		again := request.Clone(request.Context())
		if request.GetBody != nil {
			if again.Body, failure = request.GetBody(); failure != nil {
				return struct{}{}, backoff.Permanent(failure)
			}
		}
		response, failure = r.next.RoundTrip(again) //nolint:bodyclose // the caller closes the last one
		switch {
		case failure == nil && isOverburdened(response), isCutOff(request, failure):
			return struct{}{}, againError{}
		}
		return struct{}{}, nil
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(tries))
	return response, failure
}

// againError asks for another try. The answer itself is what the caller gets.
type againError struct{}

func (againError) Error() string { return "again" }

// isRepeatable knows requests that read, and changes that say what they want and
// not from what.
func isRepeatable(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet, http.MethodHead:
		return true
	case http.MethodPatch:
		kind := request.Header.Get("Content-Type")
		return request.GetBody != nil && (kind == "application/merge-patch+json" || kind == "application/strategic-merge-patch+json")
	}
	return false
}

func isOverburdened(response *http.Response) bool {
	if response.Header.Get("Retry-After") != "" {
		return false
	}
	return response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError
}

// isCutOff says whether the connection broke, as far as client-go does not know it and
// ask again itself.
func isCutOff(request *http.Request, err error) bool {
	if err == nil || request.Method != http.MethodPatch {
		return isBroken(err)
	}
	return isBroken(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}
