package deploy

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// factsOf returns what state has recorded of a wanted deployment. Plan and apply both use the
// facts to decide what is written.
func factsOf(d target.Deployment, prior map[Key]Record) release.Facts {
	record, known := prior[KeyOf(d)]
	return release.Facts{
		Known:       known,
		SameDigest:  record.Digest == d.Digest,
		SameRelease: record.isAt(d),
		// A modification shows in the digest or in the objects.
		Completed:   record.State.Settled() || record.State == status.Modified || record.Waits,
		OtherRecord: record.Digest == "",
		Drifted:     record.Corrects(d),
		Unpinned:    d.Unpinned,
		FromEngine:  record.Known.Engine,
		Leftovers:   len(record.Left) > 0,
	}
}

// isAt reports whether a deployment is to have the release that the record has.
func (r Record) isAt(d target.Deployment) bool {
	return r.Release == d.Release && r.Namespace == d.Namespace
}

// Corrects reports whether a deployment has to be written again because some of its objects are
// not as they were deployed. If the rules of the comparison change, the next refresh decides.
func (r Record) Corrects(d target.Deployment) bool {
	rules := release.RulesOf(d.Options)
	return r.Counts.Drifted() && !rules.ReportOnly && rules.ComparesAs(r.Rules)
}
