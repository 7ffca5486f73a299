package helm

import (
	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// connection reaches one cluster for one identity.
type connection struct {
	Cluster
	// recordNamespaces are those whose release records are listed, nil for all.
	recordNamespaces []string
	factory          kube.Factory
}

func newConnection(cluster Cluster, recordNamespaces []string) *connection {
	return &connection{Cluster: cluster, recordNamespaces: recordNamespaces, factory: cmdutil.NewFactory(cluster)}
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
func (c *connection) secrets(namespace string) metadata.ResourceInterface {
	return c.Metadata().Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(namespace)
}

// discover reads the kinds of the cluster before they are needed, unless they were read
// already. It ignores an error, which occurs again when the kinds are needed.
func (c *connection) discover() {
	_, _ = c.Discovery().ServerGroups()
}
