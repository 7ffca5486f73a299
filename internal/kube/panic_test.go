package kube

import (
	"errors"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

type panickingTransport struct{}

func (panickingTransport) RoundTrip(*http.Request) (*http.Response, error) { panic("broken") }

type panickingClient struct{ dynamic.Interface }

func (panickingClient) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	panic("broken")
}

// A task that runs beside a request may panic. Requests that wait for it get an error, or no error
// if the task only saves time.
func TestPanicBesideARequest(t *testing.T) {
	t.Parallel()
	isPanic := func(t *testing.T, err error) {
		t.Helper()
		if panicked := new(panics.Error); !errors.As(err, &panicked) {
			t.Errorf("error = %v, want a *panics.Error", err)
		}
	}
	tests := map[string]func(t *testing.T){
		"in the second half of discovery": func(t *testing.T) {
			t.Helper()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com/api", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			second := &secondHalf{ctx: t.Context()}
			second.begin(panickingTransport{}, request)
			if response := second.take(); response != nil {
				t.Errorf("response = %v, want none", response)
				_ = response.Body.Close()
			}
		},
		"in a watch": func(t *testing.T) {
			t.Helper()
			object := &resource.Info{
				Namespace: "ns", Name: "a", Mapping: &meta.RESTMapping{Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}},
			}
			w := newWatches(&Client{reader: &objectReader{watching: panickingClient{}}})
			w.seen[object] = version{number: "1", managed: true}
			w.cover(t.Context(), []*resource.Info{object})
			select {
			case told := <-w.events:
				isPanic(t, told.err)
			case <-t.Context().Done():
			}
			w.all.Wait()
		},
	}
	for name, run := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t)
		})
	}
}
