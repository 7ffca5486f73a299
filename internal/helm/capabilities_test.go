package helm

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
)

// discovering is a cluster of which only the kinds are read.
type discovering struct {
	Cluster

	found discovery.CachedDiscoveryInterface
}

func (d discovering) Discovery() discovery.CachedDiscoveryInterface { return d.found }

// A request that is cancelled leaves no result behind. The next request finds the API group
// that had not responded yet. Servers before 1.26 get one request for each group.
func TestCapabilitiesOfAQuestionThatWasGivenUp(t *testing.T) {
	t.Parallel()
	ctx, giveUp := context.WithCancel(t.Context())
	served := map[string]any{
		"/version":      map[string]string{"gitVersion": "v1.25.0"},
		"/api":          metav1.APIVersions{},
		"/apis":         metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "x.io", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "x.io/v1", Version: "v1"}}}}},
		"/apis/x.io/v1": metav1.APIResourceList{GroupVersion: "x.io/v1", APIResources: []metav1.APIResource{{Name: "things", Kind: "Thing"}}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis/x.io/v1" && ctx.Err() == nil {
			giveUp()
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(served[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	found, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	client := New(discovering{found: memory.NewMemCacheClient(found)}, nil, nil, nil)
	if _, err := client.Capabilities(ctx); err == nil {
		t.Error("a question that was given up has an answer")
	}
	known, err := client.Capabilities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(known.APIs, "x.io/v1/Thing") || len(known.Silent) > 0 {
		t.Errorf("APIs %v, silent %v", known.APIs, known.Silent)
	}
}
