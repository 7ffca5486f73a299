package helm

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// An API server gives the same answer if it has no address left and if a webhook fails. A dry run
// tells them apart, and only the first error is a lasting one.
func TestAllocation(t *testing.T) {
	t.Parallel()
	const at = "/api/v1/namespaces/ns/services"
	tests := map[string]struct {
		path   string
		method string
		// real and dry are the codes of the responses, one after the other.
		real, dry []int
		unknown   bool // The server names no reason.
		code      int
		exhausted bool
		asked     []string
	}{
		"written":                    {real: []int{201}, code: 201, asked: []string{"POST"}},
		"no address left":            {real: []int{500, 500}, dry: []int{201}, code: 500, exhausted: true, asked: []string{"POST", "POST dry", "POST"}},
		"no port left for a change":  {path: at + "/web", method: http.MethodPatch, real: []int{500, 500}, dry: []int{200}, code: 500, exhausted: true, asked: []string{"PATCH", "PATCH dry", "PATCH"}},
		"behind a prefix":            {path: "/k8s/clusters/c" + at, real: []int{500, 500}, dry: []int{201}, code: 500, exhausted: true, asked: []string{"POST", "POST dry", "POST"}},
		"a webhook fails":            {real: []int{500}, dry: []int{500}, code: 500, asked: []string{"POST", "POST dry"}},
		"a webhook has no dry run":   {real: []int{500}, dry: []int{400}, code: 500, asked: []string{"POST", "POST dry"}},
		"a webhook failed just once": {real: []int{500, 201}, dry: []int{201}, code: 201, asked: []string{"POST", "POST dry", "POST"}},
		"it exists by then":          {real: []int{500, 409}, dry: []int{201}, code: 500, asked: []string{"POST", "POST dry", "POST"}},
		"the storage fails":          {real: []int{500}, unknown: true, code: 500, asked: []string{"POST"}},
		"refused":                    {real: []int{422}, code: 422, asked: []string{"POST"}},
		"another kind":               {path: "/api/v1/namespaces/ns/configmaps", real: []int{500}, code: 500, asked: []string{"POST"}},
		"a custom kind of this name": {path: "/apis/example.com/v1/namespaces/ns/services", real: []int{500}, code: 500, asked: []string{"POST"}},
		"a status":                   {path: at + "/web/status", method: http.MethodPatch, real: []int{500}, code: 500, asked: []string{"PATCH"}},
		"a read":                     {path: at + "/web", method: http.MethodGet, real: []int{500}, code: 500, asked: []string{"GET"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var (
				mu    sync.Mutex
				asked []string
			)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				content, err := io.ReadAll(request.Body)
				if want := "{}"; request.Method != http.MethodGet && (err != nil || string(content) != want) {
					t.Errorf("the body is %q, want %q (%v)", content, want, err)
				}
				codes, text := &test.real, request.Method
				if request.URL.Query().Get("dryRun") == "All" {
					codes, text = &test.dry, text+" dry"
				}
				asked = append(asked, text)
				code := (*codes)[0]
				*codes = (*codes)[1:]
				answer := metav1.Status{Code: int32(code), Reason: metav1.StatusReasonInternalError} //nolint:gosec // a code of HTTP
				if test.unknown {
					answer.Reason = metav1.StatusReasonUnknown
				}
				w.WriteHeader(code)
				if err := json.NewEncoder(w).Encode(answer); err != nil {
					t.Error(err)
				}
			}))
			t.Cleanup(server.Close)
			var noted requestErrors
			client := &http.Client{Transport: errorRecorder{next: server.Client().Transport, requests: &noted, ctx: t.Context()}}
			path, method := at, http.MethodPost
			if test.path != "" {
				path = test.path
			}
			if test.method != "" {
				method = test.method
			}
			request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			var answer metav1.Status
			if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || int(answer.Code) != test.code || response.StatusCode != test.code {
				t.Errorf("the response is %d %+v, want %d (%v)", response.StatusCode, answer, test.code, err)
			}
			if err := response.Body.Close(); err != nil {
				t.Error(err)
			}
			exhausted, isExhausted := noted.err().(*status.ExhaustedError) //nolint:errorlint // it is not wrapped
			if isExhausted != test.exhausted || isExhausted && !apierrors.IsInternalError(exhausted) {
				t.Errorf("noted %v, want that it lasts: %t", noted.err(), test.exhausted)
			}
			if diff := cmp.Diff(test.asked, asked); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
