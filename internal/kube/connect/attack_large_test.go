//go:build !race

package connect_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
)

// endless responds with JSON that never ends, and counts how many bytes of it were sent.
func endless(taken *atomic.Int64, begin, again string, code int) http.HandlerFunc {
	block := strings.Repeat(again, 1<<16/len(again)+1)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, err := io.WriteString(w, begin)
		for err == nil && r.Context().Err() == nil {
			var n int
			n, err = io.WriteString(w, block)
			taken.Add(int64(n))
		}
	}
}

// A response that never ends takes a limited amount of memory, and is requested only once.
func TestAttackEndlessResponse(t *testing.T) {
	const mebibyte = 1 << 20
	tests := map[string]struct {
		begin, again string
		code         int
		ask          func(context.Context, *testing.T, *kube.Client) error
		most         int64 // bytes that may be sent
	}{
		"object": {
			begin: `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "`, again: "a", most: 10 * mebibyte,
			ask: func(ctx context.Context, _ *testing.T, c *kube.Client) error { _, err := c.UID(ctx); return err },
		},
		"object of many small ones": {
			begin: `{"kind": "Namespace", "apiVersion": "v1", "a": [`, again: `{"":0},`, most: 4 * mebibyte,
			ask: func(ctx context.Context, _ *testing.T, c *kube.Client) error { _, err := c.UID(ctx); return err },
		},
		"list": {
			begin: `{"kind": "SecretList", "apiVersion": "v1", "items": [`, again: `{"metadata": {"name": "` + strings.Repeat("a", 5000) + `"}},`,
			most: 70 * mebibyte,
			ask: func(ctx context.Context, t *testing.T, c *kube.Client) error {
				t.Helper()
				_, err := typed(t, c).CoreV1().Secrets("").List(ctx, metav1.ListOptions{Limit: 500})
				return err
			},
		},
		"discovery": {
			begin: `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "`, again: "a", most: 70 * mebibyte,
			ask: func(_ context.Context, t *testing.T, c *kube.Client) error {
				t.Helper()
				_, err := typed(t, c).Discovery().ServerResourcesForGroupVersion("apps/v1")
				return err
			},
		},
		"OpenAPI": {
			begin: `{"swagger": "`, again: "a", most: 70 * mebibyte,
			ask: func(_ context.Context, t *testing.T, c *kube.Client) error {
				t.Helper()
				_, err := typed(t, c).Discovery().OpenAPISchema()
				return err
			},
		},
		"failure": {
			begin: `{"kind": "Status", "message": "`, again: "a", code: http.StatusBadRequest, most: 3 * mebibyte,
			ask: func(ctx context.Context, _ *testing.T, c *kube.Client) error { _, err := c.UID(ctx); return err },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var taken atomic.Int64
			code := max(test.code, http.StatusOK)
			connection := to(serve(t, endless(&taken, test.begin, test.again, code)))
			connection.RequestTimeout = time.Minute // The limit of bytes must end the request, not the time.
			err := test.ask(t.Context(), t, clientOf(t, connection))
			if _, ok := errors.AsType[*connect.TooLargeError](err); !ok || class(connect.Classify("c1", err)) != neither {
				t.Errorf("got %.300v", err)
			}
			const underWay = 8 * mebibyte // sent, and in the buffers of the connection
			if taken.Load() > test.most+underWay {
				t.Errorf("%d bytes were sent, %d at most", taken.Load(), test.most+underWay)
			}
		})
	}
}

// A watch may last for ever, but one of its events may not.
func TestAttackEndlessEvent(t *testing.T) {
	tests := map[string]struct{ again string }{
		"one line":         {again: "a"},
		"lines":            {again: "\", \"a\": [\n], \"b\": \""},
		"brackets in text": {again: `\"}}}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var taken atomic.Int64
			good := `{"type": "ADDED", "object": {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a"}}}` + "\n"
			connection := to(serve(t, endless(&taken, good+good+`{"type": "ADDED", "object": {"kind": "`, test.again, http.StatusOK)))
			events, err := typed(t, clientOf(t, connection)).CoreV1().Secrets("").Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer events.Stop()
			var seen int
			for event := range events.ResultChan() {
				if event.Type == "ADDED" {
					seen++
				}
			}
			if seen != 2 || taken.Load() > 24<<20 {
				t.Errorf("%d events, and %d bytes were sent", seen, taken.Load())
			}
		})
	}
}
