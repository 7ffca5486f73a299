package state

import (
	"context"
	"slices"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// capabilitiesTimeout is how long a refresh or an apply waits for clusters to return their
// capabilities. After it, the stored capabilities are used.
const capabilitiesTimeout = 5 * time.Second

// CapabilityReader reads the capabilities of clusters.
type CapabilityReader struct {
	// Clusters are all clusters of the provider, not only those of a target. A changed label can
	// add another cluster to the target, and the plan for it must be as precise.
	Clusters      []string
	IsConnectable func(cluster string) bool
	// Read returns the capabilities of clusters. A cluster that does not respond is missing.
	Read func(ctx context.Context, clusters []string) map[string]target.Capabilities
	// DependsOnCluster reports whether a deployment can depend on capabilities.
	DependsOnCluster func(target.Deployment) (bool, error)
}

// Start starts to read the capabilities of all clusters and returns at once. The returned function
// waits for the result. A cluster that does not respond keeps its known capabilities. If known is
// nil, no deployment depends on capabilities, and nothing is read.
func (r CapabilityReader) Start(ctx context.Context, known ClusterCapabilities) (wait func() ClusterCapabilities) {
	if known == nil {
		return func() ClusterCapabilities { return nil }
	}
	var clusters []string
	for _, name := range r.Clusters {
		if r.IsConnectable(name) {
			clusters = append(clusters, name)
		}
	}
	answers := make(chan ClusterCapabilities, 1)
	go func() {
		found := known
		panics.RecoveringTo(func(error) {}, "reading the capabilities of clusters", func() { found = r.read(ctx, known, clusters) })()
		answers <- found
	}()
	return func() ClusterCapabilities { return <-answers }
}

// read returns the capabilities of clusters. A cluster that does not respond keeps its known
// capabilities. One whose connection is not known yet loses them, as it may be another cluster.
func (r CapabilityReader) read(ctx context.Context, known ClusterCapabilities, clusters []string) ClusterCapabilities {
	ctx, cancel := context.WithTimeout(ctx, capabilitiesTimeout)
	defer cancel()
	return known.Merge(r.Read(ctx, clusters), r.IsConnectable)
}

// PinCreate sets the capabilities that the charts of deployments are rendered with in the plan of a
// create. None are stored before a create, so PinCreate reads each cluster once, and only if a
// chart can depend on its capabilities. It returns what it has read. mayGrow reports whether a cluster
// can serve more API versions when the deployments are rendered again, by the plan before the apply or
// by the apply itself.
func (r CapabilityReader) PinCreate(ctx context.Context, wanted []target.Deployment, mayGrow func(cluster string) bool) ClusterCapabilities {
	var (
		depending []int
		clusters  []string
	)
	for i, d := range wanted {
		if r.mayDepend(d) && r.IsConnectable(d.Cluster) {
			depending, clusters = append(depending, i), append(clusters, d.Cluster)
		}
	}
	if len(clusters) == 0 {
		return nil
	}
	slices.Sort(clusters)
	found := r.read(ctx, nil, slices.Compact(clusters))
	for cluster, known := range found {
		known.MayGrow = mayGrow(cluster)
		found[cluster] = known
	}
	for _, i := range depending {
		if known, ok := found[wanted[i].Cluster]; ok {
			wanted[i].Capabilities = &known
		}
	}
	return found
}

// mayDepend reports whether a deployment can depend on the capabilities of its cluster.
func (r CapabilityReader) mayDepend(d target.Deployment) bool {
	depends, err := r.DependsOnCluster(d)
	return (depends || err != nil) && !isFixed(d)
}

// AfterWrite returns the capabilities after deployments were written, nil if no wanted
// deployment can depend on them.
func (r CapabilityReader) AfterWrite(ctx context.Context, known ClusterCapabilities, wanted, written []target.Deployment) ClusterCapabilities {
	if !slices.ContainsFunc(wanted, r.mayDepend) {
		return nil
	}
	var clusters []string
	for _, d := range written {
		if !isFixed(d) {
			clusters = append(clusters, d.Cluster)
		}
	}
	slices.Sort(clusters)
	return r.read(ctx, known, slices.Compact(clusters))
}
