package helm

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
)

// shop contains objects, and counts calls of existing.
type shop struct {
	has   map[string]bool
	asked int
}

func (s *shop) existing(_ context.Context, objects []*resource.Info) (found map[*resource.Info]*unstructured.Unstructured, absent []*resource.Info) {
	s.asked++
	found = map[*resource.Info]*unstructured.Unstructured{}
	for _, object := range objects {
		there, known := s.has[object.Name]
		switch {
		case there:
			found[object] = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": object.Name}}}
		case known:
			absent = append(absent, object)
		}
	}
	return found, absent
}

func infos(t *testing.T, names ...string) kube.ResourceList {
	t.Helper()
	version := schema.GroupVersion{Version: "v1"}
	client, err := rest.RESTClientFor(&rest.Config{
		Host: "https://example.com/prefix", APIPath: "/api",
		ContentConfig: rest.ContentConfig{GroupVersion: &version, NegotiatedSerializer: resource.UnstructuredPlusDefaultContentConfig().NegotiatedSerializer},
	})
	if err != nil {
		t.Fatal(err)
	}
	var list kube.ResourceList
	for _, name := range names {
		list = append(list, &resource.Info{
			Client: client, Name: name, Namespace: "ns",
			Mapping: &meta.RESTMapping{Resource: version.WithResource("configmaps"), GroupVersionKind: version.WithKind("ConfigMap"), Scope: meta.RESTScopeNamespace},
		})
	}
	return list
}

func TestLookahead(t *testing.T) {
	t.Parallel()
	const collection = "https://example.com/prefix/api/v1/namespaces/ns/configmaps/"
	tests := map[string]struct {
		before   func(l *responseCache, s *shop, objects kube.ResourceList)
		requests []string
		// answers are status codes, 0 for a request that must be sent to the API server.
		answers []int
		asked   int
	}{
		"nothing is expected": {requests: []string{"GET a"}, answers: []int{0}},
		"expected, and asked for at once": {
			before:   func(l *responseCache, _ *shop, objects kube.ResourceList) { l.expect(objects) },
			requests: []string{"GET a?timeout=30s", "GET b", "GET a"}, answers: []int{200, 404, 200}, asked: 1,
		},
		"expected and never asked for": {before: func(l *responseCache, _ *shop, objects kube.ResourceList) { l.expect(objects) }},
		"something else":               {before: func(l *responseCache, _ *shop, objects kube.ResourceList) { l.expect(objects) }, requests: []string{"GET other"}, answers: []int{0}},
		"could not be read": {
			before:   func(l *responseCache, s *shop, objects kube.ResourceList) { delete(s.has, "b"); l.expect(objects) },
			requests: []string{"GET b", "GET a"}, answers: []int{0, 200}, asked: 1,
		},
		"known until it is written": {
			before: func(l *responseCache, s *shop, objects kube.ResourceList) {
				l.add(s.existing(context.Background(), objects))
			},
			requests: []string{"GET a", "GET a", "PATCH a", "GET a", "GET b"}, answers: []int{200, 200, 0, 0, 404}, asked: 1,
		},
		"made": {
			before: func(l *responseCache, s *shop, objects kube.ResourceList) {
				l.add(s.existing(context.Background(), objects))
				l.invalidateCreated(objects[1])
			},
			requests: []string{"GET b", "GET a"}, answers: []int{0, 200}, asked: 1,
		},
		"forgotten": {
			before: func(l *responseCache, s *shop, objects kube.ResourceList) {
				l.add(s.existing(context.Background(), objects))
				l.invalidate()
			},
			requests: []string{"GET a"}, answers: []int{0}, asked: 1,
		},
		"expected anew": {
			before: func(l *responseCache, s *shop, objects kube.ResourceList) {
				l.add(s.existing(context.Background(), objects))
				s.has["b"] = true
				l.expect(objects)
			},
			requests: []string{"GET b"}, answers: []int{200}, asked: 2,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{has: map[string]bool{"a": true, "b": false}}
			l := &responseCache{existing: s.existing}
			if test.before != nil {
				test.before(l, s, infos(t, "a", "b"))
			}
			for i, line := range test.requests {
				method, object, _ := strings.Cut(line, " ")
				request, err := http.NewRequestWithContext(t.Context(), method, collection+object, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				code := 0
				if got := l.respond(t.Context(), request); got != nil {
					code = got.StatusCode
					body, err := io.ReadAll(got.Body)
					if err != nil || !strings.Contains(string(body), `"kind"`) || got.Body.Close() != nil {
						t.Errorf("%s: body %q (%v)", line, body, err)
					}
				}
				if code != test.answers[i] {
					t.Errorf("%s: answer %d, want %d", line, code, test.answers[i])
				}
			}
			if s.asked != test.asked {
				t.Errorf("objects were read %d times, want %d", s.asked, test.asked)
			}
		})
	}
}

// Objects that existed when they were expected are still recorded after they were written.
func TestLookaheadRemembers(t *testing.T) {
	t.Parallel()
	s := &shop{has: map[string]bool{"a": true, "b": false}}
	l := &responseCache{existing: s.existing}
	objects := infos(t, "a", "b", "c")
	known := func() (there, isRead []bool) {
		for _, object := range objects {
			live, read := l.read(object)
			there, isRead = append(there, live != nil), append(isRead, read)
		}
		return there, isRead
	}
	ask := func(method string) {
		request, err := http.NewRequestWithContext(t.Context(), method, "https://example.com"+pathOf(objects[0]), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.respond(t.Context(), request); got != nil && got.Body.Close() != nil {
			t.Error("the body cannot be closed")
		}
	}
	l.expect(objects)
	if _, isRead := known(); slices.Contains(isRead, true) {
		t.Error("objects are known before they were read")
	}
	ask(http.MethodGet)
	ask(http.MethodPatch)
	there, isRead := known()
	if !slices.Equal(there, []bool{true, false, false}) || !slices.Equal(isRead, []bool{true, true, false}) {
		t.Errorf("there: %v, read: %v", there, isRead)
	}
	l.expect(objects)
	if _, isRead := known(); slices.Contains(isRead, true) {
		t.Error("objects are still known when others are expected")
	}
}
