// Package kube connects to clusters. It makes a client from a connection and reads discovery once
// for each client. It compares live objects with manifests, and waits until objects are ready or
// deleted.
package kube

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/command"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

var _ genericclioptions.RESTClientGetter = (*Client)(nil)

// Client reaches one cluster. All its users share one transport, one limit on
// requests and one discovery. It is safe for concurrent use.
type Client struct {
	config    *rest.Config
	discovery discovery.CachedDiscoveryInterface
	mapper    *mapper
	typed     kubernetes.Interface
	reader    *objectReader
}

// New makes a client. It reads the kubeconfig files of the connection and opens no network
// connection. Every credential of the client is added to masker before it is sent.
func New(c Connection, masker *mask.Masker) (*Client, error) {
	return new(Kubeconfigs).Client(c, masker)
}

// Client does the same as New, and reads each kubeconfig file once for all clients.
func (k *Kubeconfigs) Client(c Connection, masker *mask.Masker) (*Client, error) {
	if masker == nil {
		masker = &mask.Masker{}
	}
	c.AddSecrets(masker)
	if err := c.Validate(); err != nil {
		return nil, err
	}
	config, err := c.restConfig(k.load, masker)
	if err != nil {
		return nil, err
	}
	addConfig(masker, config)
	limit := command.DefaultLimit
	if c.Exec != nil && c.Exec.Timeout > 0 {
		limit = c.Exec.Timeout
	}
	shared, err := share(config, limit, masker)
	if err != nil {
		return nil, err
	}
	return newClient(shared)
}

// newClient makes a client from a configuration that share returned.
func newClient(shared *rest.Config) (*Client, error) {
	client := &Client{config: shared}
	found, err := newDiscoverer(shared)
	if err != nil {
		return nil, err
	}
	client.discovery = memory.NewMemCacheClient(found)
	client.mapper = &mapper{ResettableRESTMapper: newGroupMapper(client.discovery)}
	if client.typed, err = kubernetes.NewForConfig(shared); err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	if client.reader, err = newObjectReader(shared); err != nil {
		return nil, err
	}
	return client, nil
}

// share makes a configuration with a transport and a rate limit for all clients made from it. By
// default client-go gives each client its own limit and, with a proxy or an exec plugin, its own
// connections. A command that prints credentials may take limit. The credentials of requests are
// added to masker.
func share(config *rest.Config, limit time.Duration, masker *mask.Masker) (*rest.Config, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, &ConnectionError{Attribute: "host", Message: "is not the address of an API server"}
	}
	// The innermost transport sees only what the network returns, not errors from reading the
	// credentials of a request.
	inner := func(next http.RoundTripper) http.RoundTripper {
		signed := credentialCollector{next: next, masker: masker, last: &atomic.Value{}}
		return limitingTransport{next: errorTyper{next: signed}, prefix: strings.TrimSuffix(server.Path, "/")}
	}
	config.WrapTransport = transport.Wrappers(inner, config.WrapTransport)
	shared, err := transportFor(config, limit)
	if err != nil {
		return nil, fmt.Errorf("reading certificates or credentials: %w", err)
	}
	limited := &rest.Config{
		Host:      server.String(),
		Transport: withRetries(inflightLimiter{next: shared, tokens: make(chan struct{}, inFlight)}),
		UserAgent: config.UserAgent,
		Timeout:   config.Timeout,
		QPS:       config.QPS,
		Burst:     config.Burst,
		// A warning contains text of a server or of a webhook, and would be logged without masking.
		WarningHandler: rest.NoWarnings{},
	}
	if config.ExecProvider != nil {
		limited.Timeout += limit // The time of a request begins when the command has ended.
	}
	if config.QPS > 0 {
		limited.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	}
	return limited, nil
}

// inFlight is how many requests to one cluster run at once. It is less than the number of streams
// that an API server allows on one connection.
const inFlight = 64

// inflightLimiter limits how many requests run at once. A request counts until its response begins,
// not until the response is read, so that a watch occupies no slot.
type inflightLimiter struct {
	next   http.RoundTripper
	tokens chan struct{}
}

// WrappedRoundTripper lets client-go find the transport below.
func (c inflightLimiter) WrappedRoundTripper() http.RoundTripper { return c.next }

func (c inflightLimiter) RoundTrip(request *http.Request) (*http.Response, error) {
	select {
	case c.tokens <- struct{}{}:
	case <-request.Context().Done():
		return nil, context.Cause(request.Context())
	}
	defer func() { <-c.tokens }()
	return c.next.RoundTrip(request)
}

// As makes a client that acts as a service account of the cluster. It shares the transport and the
// limit on requests. It has its own discovery, because identities may discover different APIs. The
// identity of the connection needs the right to impersonate the account.
func (c *Client) As(namespace, serviceAccount string) (*Client, error) {
	config := rest.CopyConfig(c.config)
	user := fmt.Sprintf("system:serviceaccount:%s:%s", namespace, serviceAccount)
	config.Transport = transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{UserName: user}, config.Transport)
	return newClient(config)
}

func httpProxy(proxy *url.URL) func(*http.Request) (*url.URL, error) { return http.ProxyURL(proxy) }

// ToRESTConfig gives a copy that the caller may change.
func (c *Client) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(c.config), nil }

// ToDiscoveryClient gives the shared discovery, cached in memory.
func (c *Client) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return c.discovery, nil
}

// ToRESTMapper gives the shared mapper. The mapper reads discovery again when it does not find a
// kind.
func (c *Client) ToRESTMapper() (meta.RESTMapper, error) { return c.mapper, nil }

// ToRawKubeConfigLoader is used for a default namespace only.
func (c *Client) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), &clientcmd.ConfigOverrides{})
}

// UID returns the UID of the namespace kube-system. It identifies the cluster, because the
// namespace exists as long as the cluster.
func (c *Client) UID(ctx context.Context) (string, error) {
	namespace, err := c.typed.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the namespace %s: %w", metav1.NamespaceSystem, err)
	}
	return string(namespace.UID), nil
}

func sortedKeys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
