package connect_test

import (
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
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// A cluster that redirects every request must not get the credentials to another host.
func TestAttackRedirect(t *testing.T) {
	t.Parallel()
	certificate, key := pair(t, "client", time.Hour)
	tests := map[string]func(*testing.T, *connect.Connection){
		"token": func(*testing.T, *connect.Connection) {},
		"token file": func(t *testing.T, c *connect.Connection) {
			t.Helper()
			c.Token, c.TokenFile = secret.Hide(""), write(t, "token", "secret", 0o600)
		},
		"password": func(_ *testing.T, c *connect.Connection) {
			c.Token, c.Username, c.Password = secret.Hide(""), "admin", secret.Hide("hunter2")
		},
		"certificate": func(_ *testing.T, c *connect.Connection) {
			c.Token, c.ClientCertificate, c.ClientKey = secret.Hide(""), certificate, secret.Hide(key)
		},
		"exec": func(t *testing.T, c *connect.Connection) {
			t.Helper()
			c.Token, c.Exec = secret.Hide(""), &connect.Exec{APIVersion: "client.authentication.k8s.io/v1", Command: credentials(t), Args: []string{t.Name()}}
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
	connection.RequestTimeout = 10 * time.Minute // Reading them takes a minute on a busy machine.
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
