package cluster_test

import (
	"context"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/cluster"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/preview"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func previewOf(entries map[string]cluster.Entry) *preview.Preview {
	set := cluster.NewSet(entries, &render.Charts{}, &mask.Masker{})
	return &preview.Preview{
		Connect:     func(name string) (preview.Cluster, error) { return set.Connect(name) },
		Connectable: set.IsConnectable, Snapshots: &preview.SnapshotCache{}, Parallelism: 2, Timeout: 2 * time.Minute,
		Former: func(string, string) []release.Known { return nil },
	}
}

// The response to a request that was cancelled, or refused once, is not kept: the next plan of the
// process sends the request again.
func TestSnapshotKeepsNoFailure(t *testing.T) {
	t.Parallel()
	tests := map[string]func(w http.ResponseWriter, r *http.Request, giveUp func()){
		"a question that was given up": func(_ http.ResponseWriter, r *http.Request, giveUp func()) {
			giveUp()
			<-r.Context().Done()
		},
		"a cluster that failed once": func(w http.ResponseWriter, _ *http.Request, _ func()) {
			w.WriteHeader(http.StatusForbidden)
		},
	}
	for name, fail := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			var isWell atomic.Bool
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "kube-system", "uid": "1"}}`
				if r.URL.Path == "/api/v1/secrets" {
					body = `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "items": []}`
					if !isWell.Load() {
						fail(w, r, giveUp)
						return
					}
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(body))
			}))
			t.Cleanup(server.Close)
			authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			preview := previewOf(map[string]cluster.Entry{"a": {Connection: connect.Connection{Host: server.URL, Token: secret.Hide("token"), ClusterCACertificate: string(authority)}}})
			if _, _, err := preview.Snapshot(ctx, "a"); err == nil {
				t.Error("the first snapshot went well")
			}
			isWell.Store(true)
			if _, snapshot, err := preview.Snapshot(t.Context(), "a"); err != nil || snapshot.UID != "1" {
				t.Errorf("the second snapshot: %+v, %v", snapshot, err)
			}
		})
	}
}

// Only clusters that the plan surely needs are read ahead, and each once.
func TestPrefetch(t *testing.T) {
	t.Parallel()
	var (
		mu    sync.Mutex
		lists = map[string]int{}
	)
	clusters := map[string]cluster.Entry{"unknown": {ConnectionUnknown: true}}
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
		clusters[name] = cluster.Entry{Connection: connect.Connection{Host: server.URL, Token: secret.Hide("token"), ClusterCACertificate: string(authority)}}
	}
	preview := previewOf(clusters)
	var write []target.Deployment
	prior := map[deploy.Key]deploy.Record{}
	for _, name := range slices.Sorted(maps.Keys(clusters)) {
		d := target.Deployment{Cluster: name, Bundle: &bundle.Bundle{Name: "web"}, Release: "web", Namespace: "ns", Digest: "v1-b"}
		switch name {
		case "moved":
			prior[deploy.KeyOf(d)] = deploy.Record{Release: "former", Namespace: "ns", Digest: "v1-a"}
		case "changed":
			prior[deploy.KeyOf(d)] = deploy.Record{Release: "web", Namespace: "ns", Digest: "v1-a"}
		case "paused":
			d.Paused = true
		}
		write = append(write, d)
	}

	preview.Prefetch(t.Context(), write, prior)()

	for _, name := range []string{"new", "moved"} {
		if _, _, err := preview.Snapshot(t.Context(), name); err != nil {
			t.Errorf("listing the releases of %s: %v", name, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(map[string]int{"new": 1, "moved": 1}, lists); diff != "" {
		t.Errorf("lists of releases (-want +got):\n%s", diff)
	}
}
