package retry

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Transport sends a request again if the response is a temporary failure or missing. Its
// caller gets the last response.
type Transport struct {
	Next   http.RoundTripper
	Policy Policy
	// Repeatable reports whether a request may be sent more than once. Its body is read again
	// from GetBody.
	Repeatable func(*http.Request) bool
	// Passing reports whether the same request can have another response a moment later. The
	// response is nil if there is an error.
	Passing func(*http.Request, *http.Response, error) bool
}

// WrappedRoundTripper lets client-go find the wrapped transport.
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

// again makes Do try again. If the server requests a pause, that pause is used, but at most
// the longest pause of the policy.
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

// discard allows the connection of a short response to be used again.
func discard(body io.ReadCloser) {
	const short = 64 << 10
	_, _ = io.CopyN(io.Discard, body, short)
	_ = body.Close()
}
