package helm

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A response can begin well and then end before it is complete.
func TestRequestsThatFail(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half of it")
			if http.NewResponseController(w).Flush() == nil {
				panic(http.ErrAbortHandler)
			}
		case "/hangs":
			_ = http.NewResponseController(w).Flush()
			<-request.Context().Done()
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		case "/refused":
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(server.Close)
	tests := map[string]struct {
		requests []string
		timeout  time.Duration
		givesUp  bool
		fails    bool
	}{
		"whole":              {requests: []string{"/whole"}},
		"cut":                {requests: []string{"/cut"}, fails: true},
		"a watch that ends":  {requests: []string{"/cut?watch=true"}},
		"takes too long":     {requests: []string{"/hangs"}, timeout: time.Second, fails: true},
		"is given up":        {requests: []string{"/hangs"}, timeout: time.Minute, givesUp: true},
		"not there":          {requests: []string{"/missing"}},
		"refused":            {requests: []string{"/refused"}, fails: true},
		"cut among others":   {requests: []string{"/whole", "/cut", "/missing"}, fails: true},
		"another one is cut": {requests: []string{"/cut", "/refused"}, fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var noted requestErrors
			client := &http.Client{Transport: errorRecorder{next: server.Client().Transport, requests: &noted, ctx: t.Context()}, Timeout: test.timeout}
			asking, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			for _, path := range test.requests {
				request, err := http.NewRequestWithContext(asking, http.MethodGet, server.URL+path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				response, err := client.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				if test.givesUp {
					giveUp()
				}
				_, _ = io.Copy(io.Discard, response.Body) // The recorder records the error, if any.
				if err := response.Body.Close(); err != nil {
					t.Error(err)
				}
			}
			if got := noted.err(); (got != nil) != test.fails {
				t.Errorf("noted %v, want a failure: %t", got, test.fails)
			}
		})
	}
}
