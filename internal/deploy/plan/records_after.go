package plan

import (
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// RecordsAfter returns the records after an apply: those that the apply made, and those of
// deployments that stay as they are. The latter get the rules of their bundles, which change
// without a deployment.
//
// leavesOut reports whether the plan showed a deployment as missing. The plan of a replacement
// does so for a held deployment, because it is made without the records of the existing
// deployments. A record of that deployment would contradict the plan, so its release is in
// leftOut. A refresh finds the deployment.
func (c Change) RecordsAfter(
	applied map[deploy.Key]deploy.Record, wanted []target.Deployment, leavesOut func(deploy.Key) bool,
) (records map[deploy.Key]deploy.Record, leftOut map[deploy.Key]release.Known) {
	records, leftOut = map[deploy.Key]deploy.Record{}, map[deploy.Key]release.Known{}
	maps.Copy(records, applied)
	for key := range c.Keep {
		if leavesOut(key) {
			leftOut[key] = c.Prior[key].Known
			continue
		}
		records[key] = c.Prior[key]
	}
	for _, d := range wanted {
		key := deploy.KeyOf(d)
		if record, ok := records[key]; ok && c.Keep[key] {
			record.Rules = release.RulesOf(d.Options)
			records[key] = record
		}
	}
	return records, leftOut
}

// Without returns records without those of removed deployments.
func Without(records map[deploy.Key]deploy.Record, removed []deploy.Key) map[deploy.Key]deploy.Record {
	left := maps.Clone(records)
	maps.DeleteFunc(left, func(key deploy.Key, _ deploy.Record) bool { return slices.Contains(removed, key) })
	return left
}
