package state

import "github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"

// MergeOrphans returns the orphans after a refresh. Only one that saw all clusters says that
// one is gone.
func MergeOrphans(known []deploy.Orphan, observation deploy.Observation) []deploy.Orphan {
	if !observation.AllSeen {
		return known
	}
	return observation.Orphans
}
