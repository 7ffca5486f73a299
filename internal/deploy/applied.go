package deploy

import (
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// RecordsAfter returns the records after an apply: those that it made, and those of deployments
// that stay as they are, with the rules of their bundles, which change without a deployment.
//
// leavesOut reports whether the plan showed that a deployment is not there, as that of a
// replacement does of one that is held: it does not know what is there. To return its record
// would break the plan, so its release is in leftOut. A refresh finds the deployment.
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
