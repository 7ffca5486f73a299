package retry_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

func TestTransport(t *testing.T) {
	t.Parallel()
	const content = "what is sent each time"
	tests := map[string]struct {
		method string
		// oneShot is true for a body that cannot be read again.
		oneShot    bool
		repeatable bool
		status     int // Status of the responses before the successful one, 0 for none.
		fails      int32
		header     string // Retry-After
		asked      int32
		want       int // Status, 0 for an error.
	}{
		"good":                   {method: http.MethodGet, repeatable: true, asked: 1, want: http.StatusOK},
		"busy":                   {method: http.MethodGet, repeatable: true, status: http.StatusServiceUnavailable, fails: 2, asked: 3, want: http.StatusOK},
		"busy, with a body":      {method: http.MethodPost, repeatable: true, status: http.StatusServiceUnavailable, fails: 2, asked: 3, want: http.StatusOK},
		"no answer, with a body": {method: http.MethodPost, repeatable: true, fails: 2, asked: 3, want: http.StatusOK},
		"busy for too long":      {method: http.MethodGet, repeatable: true, status: http.StatusServiceUnavailable, fails: 9, asked: 4, want: http.StatusServiceUnavailable},
		"no answer for too long": {method: http.MethodGet, repeatable: true, fails: 9, asked: 4},
		"refused":                {method: http.MethodGet, repeatable: true, status: http.StatusForbidden, fails: 9, asked: 1, want: http.StatusForbidden},
		"not to be repeated":     {method: http.MethodPost, status: http.StatusServiceUnavailable, fails: 9, asked: 1, want: http.StatusServiceUnavailable},
		"a body to be read once": {method: http.MethodPost, repeatable: true, oneShot: true, status: http.StatusServiceUnavailable, fails: 9, asked: 1, want: http.StatusServiceUnavailable},
		"wait no longer than":    {method: http.MethodGet, repeatable: true, status: http.StatusTooManyRequests, header: "3600", fails: 1, asked: 2, want: http.StatusOK},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := asked.Add(1)
				sent, err := io.ReadAll(r.Body)
				if err != nil || r.Method == http.MethodPost && string(sent) != content {
					t.Errorf("request %d has the body %q: %v", n, sent, err)
				}
				if n > tt.fails {
					return
				}
				if tt.status == 0 {
					panic(http.ErrAbortHandler)
				}
				if tt.header != "" {
					w.Header().Set("Retry-After", tt.header)
				}
				w.WriteHeader(tt.status)
			}))
			t.Cleanup(server.Close)
			policy := retry.Policy{First: brief, Longest: time.Millisecond, Factor: 1, Tries: 4}
			transport := retry.Transport{
				Next: http.DefaultTransport, Policy: policy,
				Repeatable: func(*http.Request) bool { return tt.repeatable },
				Passing: func(_ *http.Request, response *http.Response, err error) bool {
					return err != nil || response.StatusCode >= http.StatusInternalServerError || response.StatusCode == http.StatusTooManyRequests
				},
			}
			var body io.Reader
			if tt.method == http.MethodPost {
				body = bytes.NewReader([]byte(content))
			}
			request, err := http.NewRequestWithContext(t.Context(), tt.method, server.URL, body)
			if err != nil {
				t.Fatal(err)
			}
			if tt.oneShot {
				request.GetBody = nil
			}
			response, err := transport.RoundTrip(request)
			got := 0
			if err == nil {
				got = response.StatusCode
				_ = response.Body.Close()
			}
			if got != tt.want || asked.Load() != tt.asked {
				t.Errorf("status %d after %d requests, want %d after %d (%v)", got, asked.Load(), tt.want, tt.asked, err)
			}
		})
	}
}

// A caller that cancels during a pause gets the last response, with its body.
func TestTransportThatIsGivenUp(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "maintenance")
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancelCause(t.Context())
	transport := retry.Transport{
		Next: http.DefaultTransport, Policy: retry.Policy{First: time.Hour, Longest: time.Hour, Factor: 1},
		Repeatable: func(*http.Request) bool { return true },
		Passing: func(*http.Request, *http.Response, error) bool {
			time.AfterFunc(time.Millisecond, func() { cancel(errors.New("gave up")) })
			return true
		},
	}
	request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	unending := request.WithContext(ctx)
	transport.Next = roundTrip(func(*http.Request) (*http.Response, error) { return http.DefaultTransport.RoundTrip(request) })
	response, err := transport.RoundTrip(unending)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if content, err := io.ReadAll(response.Body); string(content) != "maintenance" || err != nil {
		t.Errorf("the body is %q: %v", content, err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
