package helm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

// responseCache returns the single objects that Helm reads one by one. It takes them from a
// few lists that were read right before. It exists for one operation, and drops an object at
// the first write to it.
type responseCache struct {
	// existing reads the objects that exist.
	existing func(ctx context.Context, objects []*resource.Info) (found map[*resource.Info]*unstructured.Unstructured, absent []*resource.Info)

	mu sync.Mutex
	// expected are objects that Helm is about to request.
	expected  kube.ResourceList
	paths     map[string]bool
	responses map[string]cachedResponse
	// found are the expected objects that existed when they were read, nil for an object that
	// did not.
	found map[*resource.Info]*unstructured.Unstructured
}

// cachedResponse is the response to a request for one object.
type cachedResponse struct {
	code int
	body []byte
}

// expect sets the objects that Helm may request next. They are read at its first request.
func (c *responseCache) expect(objects kube.ResourceList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.responses = nil
	c.expected = objects
	c.found = nil
	c.paths = make(map[string]bool, len(objects))
	for _, object := range objects {
		c.paths[pathOf(object)] = true
	}
}

// add replaces the cached responses by objects that were read.
func (c *responseCache) add(found map[*resource.Info]*unstructured.Unstructured, absent []*resource.Info) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected, c.paths = nil, nil
	c.learn(found, absent)
}

// invalidateCreated drops the cached response of an object, so that the API server responds to
// its next request. The path of a request to create an object does not contain its name.
func (c *responseCache) invalidateCreated(object *resource.Info) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.responses, pathOf(object))
}

// invalidate drops all cached responses, so that the API server responds to the next request.
func (c *responseCache) invalidate() { c.add(nil, nil) }

func (c *responseCache) learn(found map[*resource.Info]*unstructured.Unstructured, absent []*resource.Info) {
	c.responses = make(map[string]cachedResponse, len(found)+len(absent))
	for object, live := range found {
		if body, err := live.MarshalJSON(); err == nil {
			c.responses[pathOf(object)] = cachedResponse{code: http.StatusOK, body: body}
		}
	}
	for _, object := range absent {
		missing := apierrors.NewNotFound(object.Mapping.Resource.GroupResource(), object.Name).Status()
		missing.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		if body, err := json.Marshal(missing); err == nil {
			c.responses[pathOf(object)] = cachedResponse{code: http.StatusNotFound, body: body}
		}
	}
}

// remember keeps the expected objects that were read, also after the first write.
func (c *responseCache) remember(found map[*resource.Info]*unstructured.Unstructured, absent []*resource.Info) {
	c.found = maps.Clone(found)
	if c.found == nil {
		c.found = map[*resource.Info]*unstructured.Unstructured{}
	}
	for _, object := range absent {
		c.found[object] = nil
	}
}

// read returns an expected object as it was read. isRead is true if it was read.
func (c *responseCache) read(object *resource.Info) (live *unstructured.Unstructured, isRead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	live, isRead = c.found[object]
	return live, isRead
}

// respond returns the cached response to a request, nil if the request must be sent to the API
// server.
func (c *responseCache) respond(ctx context.Context, request *http.Request) *http.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	path := request.URL.Path
	if request.Method != http.MethodGet {
		delete(c.responses, path)
		return nil
	}
	if c.paths[path] {
		expected := c.expected
		c.expected, c.paths = nil, nil
		found, absent := c.existing(ctx, expected)
		c.learn(found, absent)
		c.remember(found, absent)
	}
	known, ok := c.responses[path]
	if !ok {
		return nil
	}
	return &http.Response{
		Status: strconv.Itoa(known.code) + " " + http.StatusText(known.code), StatusCode: known.code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(known.body)),
		ContentLength: int64(len(known.body)),
		Request:       request,
	}
}

// pathOf returns the path of an object on its API server.
func pathOf(object *resource.Info) string {
	return object.Client.Get().NamespaceIfScoped(object.Namespace, object.Namespaced()).
		Resource(object.Mapping.Resource.Resource).Name(object.Name).URL().Path
}

// cachingTransport is a transport that sends no request whose response is cached.
type cachingTransport struct {
	next  http.RoundTripper
	cache *responseCache
	//nolint:containedctx // Helm hands none on to its requests; the transport exists for one operation
	ctx context.Context
}

// WrappedRoundTripper lets client-go find the wrapped transport.
func (t cachingTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t cachingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if known := t.cache.respond(t.ctx, request); known != nil {
		return known, nil
	}
	return t.next.RoundTrip(request)
}

// liveOf returns an object as Helm has just read it, nil if the object does not exist.
func (c *responseCache) liveOf(info *resource.Info) (metav1.Object, error) {
	if live, isRead := c.read(info); isRead {
		if live == nil {
			return nil, nil // a missing object is a result, not an error
		}
		return live, nil
	}
	// Objects of this kind may not be listed, or were read one by one.
	live, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil // see above
	}
	if err != nil {
		return nil, fmt.Errorf("checking whether %s %s exists: %w", info.Mapping.GroupVersionKind.Kind, info.Name, err)
	}
	return meta.Accessor(live)
}
