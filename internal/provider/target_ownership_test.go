package provider

import (
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Only clusters are glanced at ahead whose plan needs it for sure, and each once.
func TestGlanceAhead(t *testing.T) {
	t.Parallel()
	var (
		mu    sync.Mutex
		lists = map[string]int{}
	)
	clusters := map[string]*member{"unknown": {name: "unknown", connectionUnknown: true}}
	for _, name := range []string{"new", "moved", "changed", "paused"} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "kube-system", "uid": "1"}}`
			if r.URL.Path == "/api/v1/secrets" {
				mu.Lock()
				lists[name]++
				mu.Unlock()
				body = `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "items": []}`
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(server.Close)
		authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		clusters[name] = &member{name: name, connection: kube.Connection{Host: server.URL, Token: "token", ClusterCACertificate: string(authority)}}
	}
	f, err := newFleet(settings{clusters: clusters, parallelism: 2}, &diff.Masker{})
	if err != nil {
		t.Fatal(err)
	}
	var write []target.Deployment
	prior := map[deploy.Key]deploy.Record{}
	for _, name := range slices.Sorted(maps.Keys(clusters)) {
		d := target.Deployment{Cluster: name, Bundle: &bundle.Bundle{Name: "web"}, Release: "web", Namespace: "ns", Digest: "v1-b"}
		switch name {
		case "moved":
			prior[keyOf(d)] = deploy.Record{Release: "former", Namespace: "ns", Digest: "v1-a"}
		case "changed":
			prior[keyOf(d)] = deploy.Record{Release: "web", Namespace: "ns", Digest: "v1-a"}
		case "paused":
			d.Paused = true
		}
		write = append(write, d)
	}

	f.glanceAhead(t.Context(), write, prior)()

	for _, name := range []string{"new", "moved"} {
		if _, _, err := f.glance(t.Context(), name); err != nil {
			t.Errorf("glancing at %s: %v", name, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(map[string]int{"new": 1, "moved": 1}, lists); diff != "" {
		t.Errorf("lists of releases (-want +got):\n%s", diff)
	}
}
