package state

import (
	"maps"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

// MergeNeeds returns the order of all bundles that are wanted or still deployed. wanted are the
// bundles that each wanted bundle is deployed after.
func MergeNeeds(known, wanted map[string][]string, records map[deploy.Key]deploy.Record) map[string][]string {
	merged := map[string][]string{}
	maps.Copy(merged, wanted)
	for key := range records {
		if _, ok := wanted[key.Bundle]; !ok && len(known[key.Bundle]) > 0 {
			merged[key.Bundle] = known[key.Bundle]
		}
	}
	return merged
}
