package state

import (
	"context"
	"slices"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// capabilitiesTimeout is how long a refresh or an apply waits for clusters to return their
// capabilities. What is known already is as good.
const capabilitiesTimeout = 5 * time.Second

// CapabilityReader reads the capabilities of clusters.
type CapabilityReader struct {
	// Clusters are all clusters of the provider, not only those that a target has: a label
	// makes another one join it, and its plan is to be as precise.
	Clusters   []string
	CanBeAsked func(cluster string) bool
	// Read returns the capabilities of clusters. One that does not answer is missing.
	Read func(ctx context.Context, clusters []string) map[string]target.Capabilities
	// DependsOnCluster reports whether a deployment can depend on capabilities.
	DependsOnCluster func(target.Deployment) (bool, error)
}

// Start reads the capabilities of all clusters and returns at once. What it returns waits for
// them. A cluster that does not answer keeps what is known of it. Nothing is read if nothing is
// known, as no deployment depends on it then.
func (r CapabilityReader) Start(ctx context.Context, known ClusterCapabilities) (wait func() ClusterCapabilities) {
	if known == nil {
		return func() ClusterCapabilities { return nil }
	}
	var clusters []string
	for _, name := range r.Clusters {
		if r.CanBeAsked(name) {
			clusters = append(clusters, name)
		}
	}
	answers := make(chan ClusterCapabilities, 1)
	go func() {
		found := known
		status.RecoveringTo(func(error) {}, "reading the capabilities of clusters", func() { found = r.read(ctx, known, clusters) })()
		answers <- found
	}()
	return func() ClusterCapabilities { return <-answers }
}

// read returns the capabilities of clusters. One that does not answer keeps what is known of
// it, and one whose connection is not known yet may be another one.
func (r CapabilityReader) read(ctx context.Context, known ClusterCapabilities, clusters []string) ClusterCapabilities {
	ctx, cancel := context.WithTimeout(ctx, capabilitiesTimeout)
	defer cancel()
	return known.Merge(r.Read(ctx, clusters), r.CanBeAsked)
}

// PinCreate sets what the charts of deployments are rendered with in the plan of a create. Nothing
// is known before, so the clusters are read, each once and only if a chart can depend on it. The
// plan is repeated before its apply, with what the clusters serve then.
func (r CapabilityReader) PinCreate(ctx context.Context, wanted []target.Deployment) {
	var (
		depending []int
		clusters  []string
	)
	for i, d := range wanted {
		if depends, err := r.DependsOnCluster(d); (depends || err != nil) && !isFixed(d) && r.CanBeAsked(d.Cluster) {
			depending, clusters = append(depending, i), append(clusters, d.Cluster)
		}
	}
	if len(clusters) == 0 {
		return
	}
	slices.Sort(clusters)
	found := r.read(ctx, nil, slices.Compact(clusters))
	for _, i := range depending {
		if known, ok := found[wanted[i].Cluster]; ok {
			known.MayGrow = true
			wanted[i].Capabilities = &known
		}
	}
}

// AfterWrite returns the capabilities after deployments were written, nil if no wanted
// deployment can depend on them.
func (r CapabilityReader) AfterWrite(ctx context.Context, known ClusterCapabilities, wanted, written []target.Deployment) ClusterCapabilities {
	depends := slices.ContainsFunc(wanted, func(d target.Deployment) bool {
		depends, err := r.DependsOnCluster(d)
		return (depends || err != nil) && !isFixed(d)
	})
	if !depends {
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
