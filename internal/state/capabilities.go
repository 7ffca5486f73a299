package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// ClusterCapabilities are the capabilities of clusters by name, nil if no deployment can depend on
// them. Read stores them, and planning and applying render charts with the stored ones. Both render
// the same, even if a cluster changes in between.
type ClusterCapabilities map[string]target.Capabilities

// PackedCapabilities are ClusterCapabilities, compressed: the capabilities of one cluster take
// about ten thousand bytes. They are unpacked only where they are needed.
type PackedCapabilities []byte

// storedCapabilities keep each different set once: most clusters of a fleet are alike.
type storedCapabilities struct {
	Sets []storedSet `json:"sets,omitempty"`
	// Clusters are indexes into Sets, by the name of the cluster.
	Clusters map[string]int `json:"clusters,omitempty"`
	// Asked is true if a deployment can depend on capabilities.
	Asked bool `json:"asked"`
}

// storedSet is target.Capabilities, with kinds below their API versions.
type storedSet struct {
	Version string              `json:"version"`
	Major   string              `json:"major"`
	Minor   string              `json:"minor"`
	APIs    map[string][]string `json:"apis"`
	// MayGrow is for the plan of a create, which is repeated before its apply.
	MayGrow bool `json:"mayGrow,omitempty"`
}

// Unpack returns what was packed. The error is a DamagedError.
func (p PackedCapabilities) Unpack() (ClusterCapabilities, error) {
	if len(p) == 0 {
		return nil, nil
	}
	var stored storedCapabilities
	if err := unpack(p, &stored); err != nil {
		return nil, &DamagedError{Part: "capabilities"}
	}
	if !stored.Asked {
		return nil, nil
	}
	sets := make([]target.Capabilities, len(stored.Sets))
	for i, set := range stored.Sets {
		sets[i] = set.capabilities()
	}
	known := ClusterCapabilities{}
	for cluster, i := range stored.Clusters {
		if i >= 0 && i < len(sets) {
			known[cluster] = sets[i]
		}
	}
	return known, nil
}

// Repack returns now, packed. If now equals what was unpacked from p, it returns p: other bytes
// from another version of the compression are no change.
func (p PackedCapabilities) Repack(unpacked, now ClusterCapabilities) (PackedCapabilities, error) {
	if (unpacked == nil) == (now == nil) && maps.EqualFunc(unpacked, now, target.Capabilities.Equal) {
		return p, nil
	}
	if now == nil {
		return nil, nil
	}
	return now.pack()
}

func (c ClusterCapabilities) pack() (PackedCapabilities, error) {
	stored := storedCapabilities{Asked: true, Clusters: map[string]int{}}
	var kept []target.Capabilities
	for _, cluster := range slices.Sorted(maps.Keys(c)) {
		i := slices.IndexFunc(kept, c[cluster].Equal)
		if i < 0 {
			i = len(kept)
			kept = append(kept, c[cluster])
			stored.Sets = append(stored.Sets, storedSetOf(c[cluster]))
		}
		stored.Clusters[cluster] = i
	}
	packed, err := pack(stored)
	if err != nil {
		return nil, fmt.Errorf("packing the capabilities of clusters: %w", err)
	}
	return packed, nil
}

func storedSetOf(c target.Capabilities) storedSet {
	stored := storedSet{Version: c.Version, Major: c.Major, Minor: c.Minor, APIs: map[string][]string{}, MayGrow: c.MayGrow}
	for _, api := range c.APIs { // Sorted: "apps/v1" precedes "apps/v1/Deployment".
		if cut := strings.LastIndex(api, "/"); cut > 0 {
			if kinds, isKind := stored.APIs[api[:cut]]; isKind {
				stored.APIs[api[:cut]] = append(kinds, api[cut+1:])
				continue
			}
		}
		stored.APIs[api] = []string{}
	}
	return stored
}

func (s storedSet) capabilities() target.Capabilities {
	c := target.Capabilities{Version: s.Version, Major: s.Major, Minor: s.Minor, MayGrow: s.MayGrow}
	for version, kinds := range s.APIs {
		c.APIs = append(c.APIs, version)
		for _, kind := range kinds {
			c.APIs = append(c.APIs, version+"/"+kind)
		}
	}
	slices.Sort(c.APIs)
	return c
}

// Pin sets the capabilities that the charts of deployments are rendered with.
func (c ClusterCapabilities) Pin(deployments []target.Deployment) {
	for i, d := range deployments {
		if known, ok := c[d.Cluster]; ok && !isFixed(d) {
			deployments[i].Capabilities = &known
		}
	}
}

// isFixed reports whether the configuration sets the capabilities of a deployment.
func isFixed(d target.Deployment) bool { return d.Capabilities != nil && d.Capabilities.Fixed }

// Merge returns the capabilities after clusters were queried. A cluster that did not respond keeps
// its capabilities. One that cannot be queried loses them: it may be another cluster by then, or
// may no longer exist.
func (c ClusterCapabilities) Merge(found map[string]target.Capabilities, isConnectable func(cluster string) bool) ClusterCapabilities {
	merged := ClusterCapabilities{}
	for cluster, before := range c {
		if isConnectable(cluster) {
			merged[cluster] = before
		}
	}
	for cluster, now := range found {
		merged[cluster] = now.Completed(c[cluster])
	}
	return merged
}
