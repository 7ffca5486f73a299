package retry

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Transport sends a request again whose response was that the server cannot just now, or that has
// none. Its caller gets the last response.
type Transport struct {
	Next   http.RoundTripper
	Policy Policy
	// Repeatable reports whether a request may be sent more than once. Its body is read again
	// from GetBody.
	Repeatable func(*http.Request) bool
	// Passing reports whether the response to a request can be another one a moment later. The
	// response is nil if there is an error.
	Passing func(*http.Request, *http.Response, error) bool
}

// WrappedRoundTripper lets client-go find the transport below.
func (t Transport) WrappedRoundTripper() http.RoundTripper { return t.Next }

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	hasBody := request.Body != nil && request.Body != http.NoBody
	if !t.Repeatable(request) || hasBody && request.GetBody == nil {
		return t.Next.RoundTrip(request)
	}
	var (
		response *http.Response
		failure  error
		sent     bool
	)
	_, _ = Do(request.Context(), t.Policy, func() (struct{}, error) { //nolint:contextcheck // the request carries it
		next := request
		if sent {
			next = request.Clone(request.Context())
			if hasBody {
				var err error
				if next.Body, err = request.GetBody(); err != nil {
					return struct{}{}, nil //nolint:nilerr // the response before counts
				}
			}
			if response != nil {
				discard(response.Body)
			}
		}
		sent = true
		response, failure = t.Next.RoundTrip(next) //nolint:bodyclose // the caller closes the last one
		if t.Passing(request, response, failure) {
			return struct{}{}, t.again(response)
		}
		return struct{}{}, nil
	})
	return response, failure
}

// again asks Do for another try, after the pause that the server wants if that is no longer than
// the longest of the policy.
func (t Transport) again(response *http.Response) error {
	if response == nil || response.StatusCode != http.StatusTooManyRequests {
		return errNotDone
	}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds <= 0 {
		return errNotDone
	}
	return &backoff.RetryAfterError{Duration: min(t.Policy.Longest, time.Duration(seconds)*time.Second)}
}

// discard lets the connection of a short response be used again.
func discard(body io.ReadCloser) {
	const short = 64 << 10
	_, _ = io.CopyN(io.Discard, body, short)
	_ = body.Close()
}
