package deploy

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// factsOf returns what state knows of a wanted deployment. Plan and apply decide by it what is
// written.
func factsOf(d target.Deployment, prior map[Key]Record) release.Facts {
	record, known := prior[KeyOf(d)]
	return release.Facts{
		Known:       known,
		SameDigest:  record.Digest == d.Digest,
		SameRelease: record.isAt(d),
		// What somebody has modified shows in the digest or in the objects.
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

// Corrects reports whether a deployment has to be written again because objects of it are
// not as they were deployed. When they are to be compared in another way from now on,
// the next look tells.
func (r Record) Corrects(d target.Deployment) bool {
	rules := release.RulesOf(d.Options)
	return r.Counts.Drifted() && !rules.ReportOnly && rules.ComparesAs(r.Rules)
}
