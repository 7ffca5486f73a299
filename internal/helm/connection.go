package helm

import (
	"fmt"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// connection makes clients of one cluster for one identity. It is safe for concurrent use.
// Making a connection sends no request.
type connection struct {
	getter genericclioptions.RESTClientGetter
	// recordNamespaces are those whose release records are listed, nil for all.
	recordNamespaces []string
	factory          kube.Factory

	mu sync.Mutex
	// typed is a client of every API group, nil before the first use.
	typed kubernetes.Interface
}

func newConnection(getter genericclioptions.RESTClientGetter, recordNamespaces []string) *connection {
	return &connection{getter: getter, recordNamespaces: recordNamespaces, factory: cmdutil.NewFactory(getter)}
}

// clientset returns a client of the typed API.
func (c *connection) clientset() (kubernetes.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.typed != nil {
		return c.typed, nil
	}
	made, err := c.factory.KubernetesClientSet()
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	c.typed = made
	return made, nil
}

// listed returns the namespaces of the lists that read all release records.
func (c *connection) listed() []string {
	if len(c.recordNamespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return c.recordNamespaces
}

// listedWith returns the namespace of the list that reads the release records of a namespace.
func (c *connection) listedWith(namespace string) string {
	if len(c.recordNamespaces) == 0 {
		return metav1.NamespaceAll
	}
	return namespace
}

// secrets returns a client that reads and changes the metadata of Secrets.
func (c *connection) secrets(namespace string) (metadata.ResourceInterface, error) {
	config, err := c.getter.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the connection: %w", err)
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(namespace), nil
}

// discover reads the kinds of the cluster before they are needed, unless they were read
// already. It ignores an error, which occurs again when the kinds are needed.
func (c *connection) discover() {
	if client, err := c.getter.ToDiscoveryClient(); err == nil {
		_, _ = client.ServerGroups()
	}
}
