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

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

var _ discovery.AggregatedDiscoveryInterfaceWithContext = discoverer{}

// discoverer reads both halves of discovery at the same time. client-go asks for /apis
// when /api was answered (client-go/discovery, GroupsAndMaybeResourcesWithContext), and
// everything waits for discovery.
type discoverer struct {
	*discovery.DiscoveryClient

	timeout time.Duration // of one request
}

// newDiscoverer makes a discovery client of a configuration from share.
func newDiscoverer(shared *rest.Config) (discoverer, error) {
	config := rest.CopyConfig(shared)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return prefetchingTransport{next: next} })
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return discoverer{}, fmt.Errorf("creating a discovery client: %w", err)
	}
	return discoverer{DiscoveryClient: client, timeout: shared.Timeout}, nil
}

// GroupsAndMaybeResourcesWithContext is what a cache in memory asks for.
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
	//nolint:containedctx // that of the reading, as the request for /api ends before
	ctx    context.Context
	asking sync.WaitGroup
	begun  bool
	// response is the response, all of it, until it is taken. There is none if that failed.
	response *http.Response
}

// begin asks for /apis as it is asked for /api. That is asked again if the server wants it.
func (s *secondHalf) begin(next http.RoundTripper, first *http.Request) {
	if s.begun {
		return
	}
	s.begun = true
	request := first.Clone(s.ctx) //nolint:contextcheck // that of the first ends with its response
	request.URL.Path += "s"
	// Without a response it is asked again, and an error shows there.
	s.asking.Go(status.RecoveringTo(func(error) {}, "reading the API groups", func() {
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

// take returns once what was asked, nil if it has to be asked again.
func (s *secondHalf) take() *http.Response {
	s.asking.Wait()
	response := s.response
	s.response = nil
	return response
}

// prefetchingTransport is a transport that asks for the second half of discovery with the first.
type prefetchingTransport struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the transport below.
func (f prefetchingTransport) WrappedRoundTripper() http.RoundTripper { return f.next }

func (f prefetchingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	second, reading := request.Context().Value(secondKey{}).(*secondHalf)
	if !reading {
		return f.next.RoundTrip(request)
	}
	switch path := request.URL.Path; {
	case strings.HasSuffix(path, "/api"):
		second.begin(f.next, request)
	case strings.HasSuffix(path, "/apis"):
		if response := second.take(); response != nil {
			return response, nil
		}
	}
	return f.next.RoundTrip(request)
}
