package kube

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
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
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return foresighted{next: next} })
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return discoverer{}, fmt.Errorf("making a discovery client: %w", err)
	}
	return discoverer{DiscoveryClient: client, timeout: shared.Timeout}, nil
}

// GroupsAndMaybeResourcesWithContext is what a cache in memory asks for.
func (d discoverer) GroupsAndMaybeResourcesWithContext(ctx context.Context) (
	*metav1.APIGroupList, map[schema.GroupVersion]*metav1.APIResourceList, map[schema.GroupVersion]error, error,
) {
	timed, cancel := context.WithTimeout(ctx, d.timeout)
	second := &secondHalf{ctx: timed}
	defer second.drop()
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
	// response and err are the answer, until it is taken.
	response *http.Response
	err      error
}

// begin asks for /apis as it is asked for /api. That is asked again if the server wants it.
func (s *secondHalf) begin(next http.RoundTripper, first *http.Request) {
	if s.begun {
		return
	}
	s.begun = true
	request := first.Clone(s.ctx) //nolint:contextcheck // that of the first ends with its answer
	request.URL.Path += "s"
	s.asking.Go(func() { s.response, s.err = next.RoundTrip(request) }) //nolint:bodyclose // whoever takes it does, or drop
}

// take answers once what was asked.
func (s *secondHalf) take() (response *http.Response, err error) {
	s.asking.Wait()
	response, err = s.response, s.err
	s.response, s.err = nil, nil
	return response, err
}

// drop lets go of an answer that nobody took.
func (s *secondHalf) drop() {
	if response, _ := s.take(); response != nil {
		_ = response.Body.Close()
	}
}

// foresighted is a transport that asks for the second half of discovery with the first.
type foresighted struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the transport below.
func (f foresighted) WrappedRoundTripper() http.RoundTripper { return f.next }

func (f foresighted) RoundTrip(request *http.Request) (*http.Response, error) {
	second, reading := request.Context().Value(secondKey{}).(*secondHalf)
	if !reading {
		return f.next.RoundTrip(request)
	}
	switch path := request.URL.Path; {
	case strings.HasSuffix(path, "/api"):
		second.begin(f.next, request)
	case strings.HasSuffix(path, "/apis"):
		if response, err := second.take(); response != nil || err != nil {
			return response, err
		}
	}
	return f.next.RoundTrip(request)
}
