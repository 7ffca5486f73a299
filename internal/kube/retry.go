package kube

import (
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

// withRetries repeats requests that can be repeated without changing what they do,
// when the response was that the server could not just then, or there was none because
// the connection broke. client-go repeats others itself: reading where it knows the
// error of the connection, and whatever the server asks to repeat with Retry-After.
// What creates or deletes is left to the caller, who has to look first at what it came
// to.
func withRetries(next http.RoundTripper) http.RoundTripper {
	return retry.Transport{Next: next, Policy: retry.Request(), Repeatable: isRepeatable, Passing: isTransient}
}

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

// isTransient says whether a response, or its absence, can be another one a moment later.
func isTransient(request *http.Request, response *http.Response, err error) bool {
	return err == nil && isOverloaded(response) || isConnectionLost(request, err)
}

func isOverloaded(response *http.Response) bool {
	if response.Header.Get("Retry-After") != "" {
		return false
	}
	return response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError
}

// isConnectionLost says whether the connection broke, as far as client-go does not know it and
// ask again itself.
func isConnectionLost(request *http.Request, err error) bool {
	if err == nil || request.Method != http.MethodPatch {
		return isBroken(err)
	}
	return isBroken(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}
