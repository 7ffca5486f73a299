package state

import (
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

// DeliveredOtherwise returns the deployments that were delivered in another way than is configured:
// by a Fleet, or directly.
func DeliveredOtherwise(records map[deploy.Key]deploy.Record, byEngine bool) []deploy.Key {
	var keys []deploy.Key
	for key, record := range records {
		if record.Known.Engine != byEngine {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, deploy.Key.Compare)
	return keys
}
