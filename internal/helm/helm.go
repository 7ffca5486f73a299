// Package helm observes, installs, upgrades and uninstalls releases on one cluster. It is
// the only package that uses the actions and the storage of the Helm SDK.
package helm

import (
	"context"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
)

// fieldManager is the name of Helm's writes in managedFields. By default Helm uses the name of
// the program, which contains its version. Then each version of the provider would become a
// new owner of every field.
const fieldManager = "terraform-provider-fleet"

//nolint:gochecknoglobals // guards Helm's own global, which must not be written twice while others read it
var setFieldManager = sync.OnceFunc(func() { kube.ManagedFieldsManager = fieldManager })

// Cluster is a cluster as one identity reaches it. Its clients are safe for concurrent use, and share
// a transport.
type Cluster interface { //nolint:interfacebloat // one type implements it, and an operation wants all of it
	genericclioptions.RESTClientGetter
	Typed() kubernetes.Interface
	Dynamic() dynamic.Interface
	Metadata() metadata.Interface
	Discovery() discovery.CachedDiscoveryInterface
	Mapper() meta.RESTMapper

	// Live reads objects and returns those that exist and those that do not. An object that
	// could not be read is in neither result.
	Live(ctx context.Context, objects []*resource.Info) (found map[*resource.Info]*unstructured.Unstructured, absent []*resource.Info)
	// Existing is like Live, but reads metadata only.
	Existing(ctx context.Context, objects []*resource.Info) (found map[*resource.Info]*unstructured.Unstructured, absent []*resource.Info)
	// Inspect compares live objects with those of releases, and returns a finding for
	// each release in their order.
	Inspect(ctx context.Context, releases []release.Inspection, objects [][]*unstructured.Unstructured) []release.Finding

	// WaitReady returns when all objects that count are ready.
	WaitReady(ctx context.Context, objects []*resource.Info, counts release.Readiness) error
	// Ready checks the objects once and returns the error that WaitReady would return now.
	Ready(ctx context.Context, objects []*resource.Info, counts release.Readiness) error
	// WaitDeleted returns when none of the objects exists any more.
	WaitDeleted(ctx context.Context, objects []*resource.Info) error
	// Await waits until the objects of a release are ready or ctx ends. It reports the objects
	// that are missing or not ready then. It can also return earlier with objects that are not
	// ready.
	Await(ctx context.Context, of release.Inspection, objects []*unstructured.Unstructured) (release.Finding, error)
}

// Client performs release operations on one cluster. It is safe for concurrent
// use; discovery and capabilities are read once.
type Client struct {
	clusterWide

	connection   *connection
	capabilities *capabilityReader
	records      *recordIndex
	contents     *recordReader
}

// clusterWide contains what the clients of all identities of a cluster share.
type clusterWide struct {
	charts *render.Charts
	cache  *RecordCache
	// masker hides the secret values that the provider has.
	masker *mask.Masker
	inUse  *namespaces
	// recordNamespaces are those whose release records are listed, nil for all.
	recordNamespaces []string
}

// New makes a client of a cluster. It sends no request. Errors of its operations
// contain no value that masker hides, and no value of a Secret that an operation writes or
// reads. Release records are listed in the given namespaces, or in all if there are none.
func New(cluster Cluster, charts *render.Charts, cache *RecordCache, masker *mask.Masker, recordNamespaces ...string) *Client {
	return newClient(cluster, clusterWide{
		charts: charts, cache: cache, masker: masker, inUse: &namespaces{}, recordNamespaces: recordNamespaces,
	})
}

// As makes a client of the same cluster for another identity.
func (c *Client) As(cluster Cluster) *Client {
	return newClient(cluster, c.clusterWide)
}

func newClient(cluster Cluster, all clusterWide) *Client {
	setFieldManager()
	connection := newConnection(cluster, all.recordNamespaces)
	return &Client{
		clusterWide: all, connection: connection, capabilities: newCapabilityReader(connection),
		records: newRecordIndex(connection), contents: newRecordReader(connection, all.cache),
	}
}
