package state

import (
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Inventory is the clusters and groups of a Fleet. A refresh reads it, so that a plan and its apply
// select the same clusters.
type Inventory struct {
	Clusters []target.Cluster `json:"clusters,omitempty"`
	Groups   []target.Group   `json:"groups,omitempty"`
}

// Moves are the deployments that are delivered in another way than before: by a Fleet, or directly.
type Moves struct {
	// Wanted are those that an apply moves.
	Wanted []deploy.Key
	// Unwanted are those that only the former way can remove.
	Unwanted []deploy.Key
}

// MovesOf returns the deployments that move because a Fleet starts or stops delivering. The keys
// are sorted.
func MovesOf(records map[deploy.Key]deploy.Record, wanted []target.Deployment, byEngine bool) Moves {
	isWanted := map[deploy.Key]bool{}
	for _, d := range wanted {
		isWanted[deploy.KeyOf(d)] = true
	}
	var found Moves
	for _, key := range slices.SortedFunc(maps.Keys(records), deploy.Key.Compare) {
		switch {
		case records[key].Known.Engine == byEngine:
		case isWanted[key]:
			found.Wanted = append(found.Wanted, key)
		default:
			found.Unwanted = append(found.Unwanted, key)
		}
	}
	return found
}

// ForDelivery returns private state without the identities of clusters that have deployments of the
// other way of delivery. A Fleet identifies a cluster by its Cluster object. Without a Fleet, a
// cluster is identified by its namespace kube-system.
func (p Private) ForDelivery(records map[deploy.Key]deploy.Record, byEngine bool) Private {
	moves := MovesOf(records, nil, byEngine)
	p.ClusterUIDs = maps.Clone(p.ClusterUIDs)
	for _, key := range moves.Unwanted {
		delete(p.ClusterUIDs, key.Cluster)
	}
	return p
}
