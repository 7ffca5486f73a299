package fetch_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	const after = time.Minute
	tests := map[string]struct {
		enough int
		// size is how many bytes arrive every 40 seconds, times is how often.
		size, times int
		pause       bool
		idle        bool
	}{
		"any byte":                       {enough: 1, size: 1, times: 10},
		"nothing":                        {enough: 1, size: 0, times: 2, idle: true},
		"too little":                     {enough: 100, size: 1, times: 10, idle: true},
		"enough by and by":               {enough: 100, size: 100, times: 10},
		"nothing more, and nobody looks": {enough: 1, size: 1, times: 1, pause: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, timeout := fetch.WithIdleTimeout(t.Context(), after, tt.enough)
				defer timeout.Stop()
				from, to := io.Pipe()
				go func() {
					for range tt.times {
						time.Sleep(40 * time.Second)
						_, _ = to.Write(make([]byte, tt.size))
					}
					_ = to.Close()
				}()
				_, _ = io.Copy(io.Discard, timeout.Reader(from))
				if tt.pause {
					timeout.Pause()
					time.Sleep(time.Hour)
				}
				idle, is := errors.AsType[*fetch.IdleTimeoutError](context.Cause(ctx))
				if is != tt.idle || is && idle.After != after {
					t.Errorf("the context has ended with %v, want an idle timeout: %t", context.Cause(ctx), tt.idle)
				}
				timeout.Stop()
				if ctx.Err() == nil {
					t.Error("the context goes on after Stop")
				}
			})
		})
	}
}

func TestIdleTransport(t *testing.T) {
	t.Parallel()
	const enough = 1 << 10
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	tests := map[string]struct {
		serve http.HandlerFunc
		idle  bool
	}{
		"answers":         {serve: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 10)) }},
		"answers nothing": {serve: hang, idle: true},
		"begins to answer": {serve: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			hang(w, r)
		}, idle: true},
		"a byte now and then": {serve: func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("x"))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, idle: true},
		"breaks off": {serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(tt.serve)
			t.Cleanup(server.Close)
			after := time.Minute
			if tt.idle {
				after = 200 * time.Millisecond
			}
			client := http.Client{Transport: fetch.IdleTransport{Next: http.DefaultTransport, After: after, Enough: enough}}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err == nil {
				_, err = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			if _, is := errors.AsType[*fetch.IdleTimeoutError](err); is != tt.idle {
				t.Errorf("error %v, want an idle timeout: %t", err, tt.idle)
			}
		})
	}
}
