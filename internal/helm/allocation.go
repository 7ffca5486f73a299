package helm

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// services is the path of Services. An API server allocates addresses and ports for them.
var services = regexp.MustCompile(`/api/v1/namespaces/[^/]+/services(/[^/]+)?$`)

// allocate finds out whether the write of a Service failed because no address or port is left. The
// API server then answers with an internal error, as it does for a webhook that fails. But a dry
// run calls the webhooks too, and allocates nothing. So if the dry run succeeds and the write fails
// again, no later try succeeds. allocate returns the response of the last write.
func (r errorRecorder) allocate(request *http.Request, first *http.Response) (last *http.Response, exhausted bool) {
	if !isAllocation(request) || !isInternal(first) {
		return first, false
	}
	tried, err := r.repeat(request, metav1.DryRunAll)
	if err != nil {
		return first, false
	}
	discard(tried)
	if !hasSucceeded(tried) {
		return first, false
	}
	second, err := r.repeat(request, "")
	if err != nil {
		return first, false
	}
	if hasSucceeded(second) {
		discard(first)
		return second, false
	}
	defer discard(second)
	return first, isInternal(second)
}

// isAllocation reports whether a request writes a Service and can be repeated.
func isAllocation(request *http.Request) bool {
	writes := request.Method == http.MethodPost || request.Method == http.MethodPut || request.Method == http.MethodPatch
	return writes && request.GetBody != nil && services.MatchString(request.URL.Path)
}

// isInternal reports whether a response is an internal error of an API server. Its body can be read
// again.
func isInternal(response *http.Response) bool {
	if response.StatusCode != http.StatusInternalServerError {
		return false
	}
	content, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(content))
	var answer metav1.Status
	return err == nil && json.Unmarshal(content, &answer) == nil && answer.Reason == metav1.StatusReasonInternalError
}

// repeat sends a request again.
func (r errorRecorder) repeat(request *http.Request, dryRun string) (*http.Response, error) {
	body, err := request.GetBody()
	if err != nil {
		return nil, err
	}
	again := request.Clone(request.Context())
	again.Body = body
	if dryRun != "" {
		query := again.URL.Query()
		query.Set("dryRun", dryRun)
		again.URL.RawQuery = query.Encode()
	}
	return r.next.RoundTrip(again)
}

func hasSucceeded(response *http.Response) bool {
	return response.StatusCode < http.StatusMultipleChoices
}

// discard allows the connection of a response to be used again.
func discard(response *http.Response) {
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
}
