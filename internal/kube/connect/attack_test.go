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
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
)

// A cluster that redirects every request must not get the credentials to another host.
func TestAttackRedirect(t *testing.T) {
	t.Parallel()
	certificate, key := pair(t, "client", time.Hour)
	tests := map[string]func(*testing.T, *connect.Connection){
		"token": func(*testing.T, *connect.Connection) {},
		"token file": func(t *testing.T, c *connect.Connection) {
			t.Helper()
			c.Token, c.TokenFile = "", write(t, "token", "secret", 0o600)
		},
		"password": func(_ *testing.T, c *connect.Connection) { c.Token, c.Username, c.Password = "", "admin", "hunter2" },
		"certificate": func(_ *testing.T, c *connect.Connection) {
			c.Token, c.ClientCertificate, c.ClientKey = "", certificate, key
		},
		"exec": func(t *testing.T, c *connect.Connection) {
			t.Helper()
			c.Token, c.Exec = "", &connect.Exec{APIVersion: "client.authentication.k8s.io/v1", Command: credentials(t), Args: []string{t.Name()}}
		},
		"impersonation": func(_ *testing.T, c *connect.Connection) { c.ImpersonateUser = "deployer" },
	}
	for name, authenticate := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stolen atomic.Int32
			thief := serve(t, func(w http.ResponseWriter, r *http.Request) {
				stolen.Add(1)
				respondWithUID(w, r)
			})
			for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
				var asked atomic.Int32
				connection := to(serve(t, func(w http.ResponseWriter, r *http.Request) {
					asked.Add(1)
					http.Redirect(w, r, thief.URL+"/path?secret=1", code)
				}))
				connection.Insecure, connection.ClusterCACertificate = true, ""
				authenticate(t, &connection)
				_, err := clientOf(t, connection).UID(t.Context())
				redirect, ok := errors.AsType[*connect.RedirectError](err)
				if want := strings.TrimPrefix(thief.URL, "https://"); !ok || redirect.Host != want {
					t.Errorf("%d: %v, want a redirect to %s to be refused", code, err, want)
				}
				if got := connect.Classify("c1", err); class(got) != denied || strings.Contains(got.Error(), "secret=1") {
					t.Errorf("%d: %v is %s", code, got, class(got))
				}
				if asked.Load() != 1 {
					t.Errorf("%d: the server was asked %d times", code, asked.Load())
				}
			}
			if stolen.Load() != 0 {
				t.Errorf("the other host got %d requests", stolen.Load())
			}
		})
	}
}

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

func typed(t *testing.T, c *kube.Client) kubernetes.Interface {
	t.Helper()
	config, err := c.ToRESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	made, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return made
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

// Many small events do not count as one large event.
func TestManyEventsPass(t *testing.T) {
	t.Parallel()
	event := `{"type": "ADDED", "object": {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a", "annotations": {"a": "` +
		strings.Repeat(`\"}{`, 1<<16) + `"}}}}` + "\n"
	const many = 40
	connection := to(serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range many {
			_, _ = io.WriteString(w, event)
		}
	}))
	connection.RequestTimeout = time.Minute // Reading them takes seconds on a busy machine.
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
	if seen != many {
		t.Errorf("%d events, want %d", seen, many)
	}
}
