package connect

import (
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// isRepeatable reports whether a request has the same effect when it is repeated: it reads, or is a
// patch that does not depend on the current values. Requests that create or delete are left to the
// caller, which first has to read what they have changed.
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

// isTransient reports whether the same request can have another result a moment later: after a response
// of 429 or 5xx, or if the connection broke before a response. client-go itself repeats other requests:
// reads after an error of the connection that it recognizes, and any request whose response has
// Retry-After.
func isTransient(request *http.Request, response *http.Response, err error) bool {
	return err == nil && isOverloaded(response) || isConnectionLost(request, err)
}

func isOverloaded(response *http.Response) bool {
	if response.Header.Get("Retry-After") != "" {
		return false
	}
	code := response.StatusCode
	return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError && !isLasting(code)
}

// isConnectionLost reports whether the connection broke. It leaves out errors after which client-go
// itself repeats the request.
func isConnectionLost(request *http.Request, err error) bool {
	if err == nil || request.Method != http.MethodPatch {
		return is[*brokenError](err)
	}
	return is[*brokenError](err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}
