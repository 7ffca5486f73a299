package kube_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
)

// Both halves of discovery are requested at the same time, each once. So a server that delays the
// first half until the second is requested is read without a delay.
func TestDiscoveryReadsBothHalvesAtOnce(t *testing.T) {
	t.Parallel()
	for name, prefix := range map[string]string{"alone on a host": "", "behind a path": "/k8s/clusters/c-1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var (
				mu    sync.Mutex
				calls = map[string]int{}
				asked = make(chan struct{})
			)
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				path := strings.TrimPrefix(r.URL.Path, prefix)
				mu.Lock()
				calls[path]++
				first := calls[path] == 1
				mu.Unlock()
				switch path {
				case "/api":
					select {
					case <-asked:
						answer(w, http.StatusOK, metav1.APIVersions{Versions: []string{"v1"}})
					case <-r.Context().Done():
					}
				case "/apis":
					if first {
						close(asked)
					}
					answer(w, http.StatusOK, metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "apps"}}})
				case "/api/v1": // On a server before 1.26 each group is read by itself.
					answer(w, http.StatusOK, metav1.APIResourceList{GroupVersion: "v1"})
				}
			})
			connection := to(server)
			connection.Host += prefix
			found, err := discoveryOf(t, connection).ServerGroups()
			if err != nil {
				t.Fatal(err)
			}
			var groups []string
			for _, group := range found.Groups {
				groups = append(groups, group.Name)
			}
			if diff := cmp.Diff([]string{"", "apps"}, groups); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]int{"/api": 1, "/apis": 1, "/api/v1": 1}, calls); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// If the response with the second half breaks off, the second half is requested again.
func TestDiscoveryReadsAgainWhatBrokeOff(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api":
			answer(w, http.StatusOK, metav1.APIVersions{})
		case asked.Add(1) == 1:
			_, _ = w.Write([]byte(`{"kind": "APIGroupList", `))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		default:
			answer(w, http.StatusOK, metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "apps"}}})
		}
	})
	found, err := discoveryOf(t, to(server)).ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(found.Groups, func(group metav1.APIGroup) bool { return group.Name == "apps" }) {
		t.Errorf("groups = %v, want apps among them", found.Groups)
	}
	if got := asked.Load(); got != 2 {
		t.Errorf("asked %d times, want twice", got)
	}
}

// If one half fails, discovery fails, and no request is left running.
func TestDiscoveryFailsWithEitherHalf(t *testing.T) {
	t.Parallel()
	denied := refuse(http.StatusForbidden, metav1.StatusReasonForbidden)
	tests := map[string]struct{ first, second http.HandlerFunc }{
		"the first":  {first: denied, second: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		"the second": {first: func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, metav1.APIVersions{}) }, second: denied},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api" {
					test.first(w, r)
					return
				}
				test.second(w, r)
			})
			connection := to(server)
			connection.RequestTimeout = time.Minute
			began := time.Now()
			if _, err := discoveryOf(t, connection).ServerGroups(); !connect.IsDenied(err) {
				t.Errorf("error = %v, want the refusal", err)
			}
			if took := time.Since(began); took >= connection.RequestTimeout {
				t.Errorf("took %s: it waited for what nobody needs", took)
			}
		})
	}
}

func discoveryOf(t *testing.T, connection connect.Connection) discovery.CachedDiscoveryInterface {
	t.Helper()
	client, err := kube.New(connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.ToDiscoveryClient()
	if err != nil {
		t.Fatal(err)
	}
	return found
}
