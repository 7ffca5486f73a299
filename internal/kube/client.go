// Package kube reads the objects of clusters. It reads discovery once for each client. It compares
// live objects with manifests, and waits until objects are ready or deleted.
package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
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

// New makes a client of a connection, as FromConfig does. It reads the kubeconfig files of the
// connection. Every credential of the client is added to masker before it is sent.
func New(c connect.Connection, masker *mask.Masker) (*Client, error) {
	config, err := new(connect.Kubeconfigs).Config(c, masker)
	if err != nil {
		return nil, err
	}
	return FromConfig(config)
}

// FromConfig makes a client from a configuration of package connect. It opens no network connection.
func FromConfig(shared *rest.Config) (*Client, error) {
	client := &Client{config: shared}
	found, err := newDiscoverer(shared)
	if err != nil {
		return nil, err
	}
	client.discovery = memory.NewMemCacheClient(found)
	client.mapper = newMapper(client.discovery)
	if client.typed, err = kubernetes.NewForConfig(shared); err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	if client.reader, err = newObjectReader(shared); err != nil {
		return nil, err
	}
	return client, nil
}

// As makes a client that acts as a service account of the cluster. It shares the transport and the
// limit on requests. It has its own discovery, because identities may discover different APIs. The
// identity of the connection needs the right to impersonate the account.
func (c *Client) As(namespace, serviceAccount string) (*Client, error) {
	config := rest.CopyConfig(c.config)
	user := fmt.Sprintf("system:serviceaccount:%s:%s", namespace, serviceAccount)
	config.Transport = transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{UserName: user}, config.Transport)
	return FromConfig(config)
}

// ToRESTConfig gives a copy that the caller may change.
func (c *Client) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(c.config), nil }

// ToDiscoveryClient returns Discovery.
func (c *Client) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return c.discovery, nil
}

// ToRESTMapper returns Mapper.
func (c *Client) ToRESTMapper() (meta.RESTMapper, error) { return c.mapper, nil }

// Typed gives a client of the API groups of Kubernetes.
func (c *Client) Typed() kubernetes.Interface { return c.typed }

// Dynamic gives a client of all kinds.
func (c *Client) Dynamic() dynamic.Interface { return c.reader.dynamic }

// Metadata gives a client that reads nothing of objects but their metadata.
func (c *Client) Metadata() metadata.Interface { return c.reader.metadata }

// Discovery gives the shared discovery, cached in memory.
func (c *Client) Discovery() discovery.CachedDiscoveryInterface { return c.discovery }

// Mapper gives the shared mapper. The mapper reads discovery again when it does not find a
// kind.
func (c *Client) Mapper() meta.RESTMapper { return c.mapper }

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
