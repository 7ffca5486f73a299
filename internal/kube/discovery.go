package kube

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

var _ discovery.AggregatedDiscoveryInterfaceWithContext = discoverer{}

// discoverer reads both halves of discovery at the same time, because all other requests wait for
// discovery. client-go requests /apis only after the response to /api (client-go/discovery,
// GroupsAndMaybeResourcesWithContext).
type discoverer struct {
	*discovery.DiscoveryClient

	timeout time.Duration // of one request
}

// newDiscoverer makes a discovery client from a configuration that share returned.
func newDiscoverer(shared *rest.Config) (discoverer, error) {
	config := rest.CopyConfig(shared)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return prefetchingTransport{next: next} })
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return discoverer{}, fmt.Errorf("creating a discovery client: %w", err)
	}
	return discoverer{DiscoveryClient: client, timeout: shared.Timeout}, nil
}

// GroupsAndMaybeResourcesWithContext reads discovery for the cache in memory.
func (d discoverer) GroupsAndMaybeResourcesWithContext(ctx context.Context) (
	*metav1.APIGroupList, map[schema.GroupVersion]*metav1.APIResourceList, map[schema.GroupVersion]error, error,
) {
	timed, cancel := context.WithTimeout(ctx, d.timeout)
	second := &secondHalf{ctx: timed}
	defer second.asking.Wait()
	defer cancel()
	return d.DiscoveryClient.GroupsAndMaybeResourcesWithContext(context.WithValue(ctx, secondKey{}, second))
}

type secondKey struct{}

// secondHalf is the request for /apis of one reading of discovery.
type secondHalf struct {
	//nolint:containedctx // the context of the reading, because the request for /api ends earlier
	ctx    context.Context
	asking sync.WaitGroup
	begun  bool
	// response is the complete response until take returns it, nil if the request failed.
	response *http.Response
}

// begin sends the request for /apis together with the request for /api. It does so once, even if
// client-go repeats the request for /api.
func (s *secondHalf) begin(next http.RoundTripper, first *http.Request) {
	if s.begun {
		return
	}
	s.begun = true
	request := first.Clone(s.ctx) //nolint:contextcheck // the context of the first request ends with its response
	request.URL.Path += "s"
	// If this request fails, RoundTrip sends it again and returns its error.
	s.asking.Go(panics.RecoveringTo(func(error) {}, "reading the API groups", func() {
		response, err := next.RoundTrip(request)
		if err != nil {
			return
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return
		}
		response.Body = io.NopCloser(bytes.NewReader(body))
		s.response = response
	}))
}

// take returns the response once. It returns nil if the request has to be sent again.
func (s *secondHalf) take() *http.Response {
	s.asking.Wait()
	response := s.response
	s.response = nil
	return response
}

// prefetchingTransport is a transport that requests the second half of discovery with the first.
type prefetchingTransport struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the transport below.
func (p prefetchingTransport) WrappedRoundTripper() http.RoundTripper { return p.next }

func (p prefetchingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	second, reading := request.Context().Value(secondKey{}).(*secondHalf)
	if !reading {
		return p.next.RoundTrip(request)
	}
	switch path := request.URL.Path; {
	case strings.HasSuffix(path, "/api"):
		second.begin(p.next, request)
	case strings.HasSuffix(path, "/apis"):
		if response := second.take(); response != nil {
			return response, nil
		}
	}
	return p.next.RoundTrip(request)
}
