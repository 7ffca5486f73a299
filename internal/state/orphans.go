package state

import (
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

// MergeOrphans returns the orphans after a refresh. Orphans are replaced only if the refresh saw
// all clusters: only then is a missing orphan really removed. Orphans in namespaces that were not
// listed stay.
func MergeOrphans(known []deploy.Orphan, observation deploy.Observation) []deploy.Orphan {
	if !observation.AllSeen {
		return known
	}
	var merged []deploy.Orphan
	for _, orphan := range known {
		if listed := observation.Listed[orphan.Cluster]; len(listed) > 0 && !slices.Contains(listed, orphan.Namespace) {
			merged = append(merged, orphan)
		}
	}
	return append(merged, observation.Orphans...)
}
