package deploy

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// onlyReadiness takes what is no matter of readiness out of a finding. An object that
// is missing is not ready; what differs is not looked at.
func onlyReadiness(f release.Finding) release.Finding {
	only := release.Finding{Ready: f.Ready + len(f.Modified) + len(f.NotOwned), NotReady: f.NotReady, Refused: f.Refused}
	for _, object := range f.Missing {
		only.NotReady = append(only.NotReady, release.Unready{Object: object, Reason: "missing"})
	}
	return only
}

// judged is the record after its objects were looked at. An operation that failed or
// was cut short counts for more than what its objects are like.
func (r Record) judged(finding release.Finding) Record {
	r.Counts = status.CountsOf(finding)
	if r.State == status.ErrApplied || r.State == status.WaitApplied {
		return r
	}
	wasNotReady := r.State == status.NotReady && r.Message != ""
	state, message := status.Judge(finding)
	if wasNotReady && state == status.Ready && len(finding.Refused) > 0 {
		return r // What was not ready can be what must not be read now.
	}
	r.State, r.Message = state, message
	return r
}

// isInspected says whether the objects of a deployment have to be looked at. Those of
// a release that others changed say nothing of this deployment.
func isInspected(record Record, drift Drift) bool {
	if record.Digest == "" {
		return false
	}
	return drift == DriftLive || record.State == status.NotReady
}

// inspect looks at the objects of deployments on one cluster. The error of all is that
// of each.
func (e *Engine) inspect(ctx context.Context, cluster Cluster, look map[Key]release.Inspection) map[Key]release.Finding {
	if len(look) == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(look), func(a, b Key) int { return cmp.Compare(a.Bundle, b.Bundle) })
	inspections := make([]release.Inspection, len(keys))
	for i, key := range keys {
		inspections[i] = look[key]
	}
	found := make(map[Key]release.Finding, len(keys))
	findings, err := e.inspectAll(ctx, cluster, inspections)
	for i, key := range keys {
		if err != nil {
			found[key] = release.Finding{Err: err}
			continue
		}
		found[key] = findings[i]
	}
	return found
}

func (e *Engine) inspectAll(ctx context.Context, cluster Cluster, inspections []release.Inspection) ([]release.Finding, error) {
	slot, err := e.slot(ctx)
	if err != nil {
		return nil, err
	}
	defer slot.Pause()
	return cluster.Inspect(ctx, inspections)
}

// Corrects says whether a deployment has to be written again because objects of it are
// not as they were deployed. When they are to be compared in another way from now on,
// the next look tells.
func (r Record) Corrects(d target.Deployment) bool {
	rules := release.RulesOf(d.Options)
	return r.Counts.Drifted() && !rules.ReportOnly && rules.ComparesAs(r.Rules)
}

// sighted is a release that was written, or was to be, and whose objects are looked at
// when all of the cluster is done.
type sighted struct {
	observed release.Observed
	// stores says that this write made the objects what they are, so that what still
	// differs is what the cluster makes of them.
	stores bool
}

// afterWriting is how long that look may take: the deployments are there anyway.
const afterWriting = 30 * time.Second

// inspect looks at the objects of what was written, so that states and counts are true
// when the apply returns. What cannot be looked at stays as the write left it.
func (v *visit) inspect(ctx context.Context) {
	if v.request.Settings.Drift != DriftLive || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, afterWriting)
	defer cancel()
	look := map[Key]release.Inspection{}
	written := v.results.sighted(v.name)
	for key, seen := range written {
		record, known := v.results.record(key)
		if !known {
			continue
		}
		inspection := release.Inspection{Observed: seen.observed, Rules: record.Rules}
		if !seen.stores {
			inspection.Stored = record.Stored
		}
		look[key] = inspection
	}
	for key, finding := range v.engine.inspect(ctx, v.seen.cluster, look) {
		if finding.Err != nil {
			continue
		}
		record, _ := v.results.record(key)
		if written[key].stores {
			record.Stored = finding.Differences()
			finding.Ready += len(finding.Modified)
			finding.Modified = nil
		}
		v.results.succeeded(key, record.judged(finding))
	}
}

// unready is how many objects an error says are not ready.
func unready(err error) int {
	var counted interface{ Unready() int }
	if errors.As(err, &counted) {
		return counted.Unready()
	}
	return 0
}
