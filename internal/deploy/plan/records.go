package plan

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Record is the record of a deployment after an apply that succeeds, as far as it is known
// during the plan.
type Record struct {
	deploy.Record

	// IsWritten reports that the apply writes the release, so that Record.Known is known only
	// after the apply.
	IsWritten bool
	// DigestUnknown reports that the digest is known only after the apply. NamesUnknown reports
	// this for the names of the objects, and ReadinessUnknown for the state, because the apply
	// does not wait.
	DigestUnknown, NamesUnknown, ReadinessUnknown bool
	// NamesDependOnCluster reports that reading the cluster again can show the names.
	NamesDependOnCluster bool
}

// Records returns the records that an apply leaves if it succeeds. A kept deployment has its
// record from before. A deployment that the apply waits for is ready. A deployment that is only
// adopted or labelled again has its state from before.
func (p *Plan) Records() map[deploy.Key]Record {
	records := make(map[deploy.Key]Record, len(p.Keep)+len(p.Write))
	for key := range p.Keep {
		records[key] = Record{Record: p.Prior[key]}
	}
	for _, d := range p.Write {
		records[deploy.KeyOf(d)] = p.writtenRecord(d)
	}
	return records
}

func (p *Plan) writtenRecord(d target.Deployment) Record {
	key := deploy.KeyOf(d)
	prior, rendering := p.Prior[key], p.Renderings[key]
	objects, namesKnown := p.Objects[key]
	planned := Record{
		Record: deploy.Record{
			Release: d.Release, Namespace: d.Namespace, Chart: rendering.Chart, Version: rendering.Version, Digest: d.Digest,
			State: status.Ready, Objects: objects, Counts: status.Counts{Ready: len(objects)}, Rules: release.RulesOf(d.Options),
		},
		IsWritten: true, DigestUnknown: d.Unpinned, NamesUnknown: !namesKnown, ReadinessUnknown: !waitsFor(d, p.waits),
		NamesDependOnCluster: !namesKnown && rendering.NamesDependOnCluster,
	}
	if !deploy.FactsOf(d, p.Prior).NeedsWrite() {
		planned.State = prior.State
		planned.Message = prior.Message
		planned.Counts = prior.Counts
		planned.NamesVary = prior.NamesVary
		planned.ReadinessUnknown = false
	}
	return planned
}

// waitsFor reports whether the write of a deployment waits until its objects are ready. wait is
// the setting of the target. A write of an atomic deployment always waits.
func waitsFor(d target.Deployment, wait bool) bool { return wait || d.HelmOptions().Atomic }
