package deploy

import (
	"maps"
	"slices"

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
func (c Change) RecordsAfter(applied map[Key]Record, wanted []target.Deployment, leavesOut func(Key) bool) (records map[Key]Record, leftOut map[Key]release.Known) {
	records, leftOut = map[Key]Record{}, map[Key]release.Known{}
	maps.Copy(records, applied)
	for key := range c.Keep {
		if leavesOut(key) {
			leftOut[key] = c.prior[key].Known
			continue
		}
		records[key] = c.prior[key]
	}
	for _, d := range wanted {
		key := KeyOf(d)
		if record, ok := records[key]; ok && c.Keep[key] {
			record.Rules = release.RulesOf(d.Options)
			records[key] = record
		}
	}
	return records, leftOut
}

// Without returns records without those of removed deployments.
func Without(records map[Key]Record, removed []Key) map[Key]Record {
	left := maps.Clone(records)
	maps.DeleteFunc(left, func(key Key, _ Record) bool { return slices.Contains(removed, key) })
	return left
}
