package state

import "github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"

// MergeOrphans returns the orphans after a refresh. Orphans are replaced only if the refresh saw
// all clusters: only then is a missing orphan really removed.
func MergeOrphans(known []deploy.Orphan, observation deploy.Observation) []deploy.Orphan {
	if !observation.AllSeen {
		return known
	}
	return observation.Orphans
}
