package run

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// needsInspection reports whether the objects of a deployment have to be read. The objects of a
// release that others changed show nothing about this deployment.
func needsInspection(record deploy.Record, drift deploy.Drift) bool {
	if record.Digest == "" {
		return false
	}
	return drift == deploy.DriftLive || record.State == status.NotReady
}

// inspect reads the objects of deployments on one cluster. If the whole request fails, each
// deployment gets the error.
func (r *Runner) inspect(ctx context.Context, cluster Cluster, look map[deploy.Key]release.Inspection) map[deploy.Key]release.Finding {
	if len(look) == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(look), func(a, b deploy.Key) int { return cmp.Compare(a.Bundle, b.Bundle) })
	inspections := make([]release.Inspection, len(keys))
	for i, key := range keys {
		inspections[i] = look[key]
	}
	found := make(map[deploy.Key]release.Finding, len(keys))
	findings, err := r.inspectAll(ctx, cluster, inspections)
	for i, key := range keys {
		if err != nil {
			found[key] = release.Finding{Err: err}
			continue
		}
		found[key] = findings[i]
	}
	return found
}

func (r *Runner) inspectAll(ctx context.Context, cluster Cluster, inspections []release.Inspection) ([]release.Finding, error) {
	slot, err := r.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer slot.Pause()
	return cluster.Inspect(ctx, inspections)
}

// pendingInspection is a release that was written, or was to be. Its objects are read after all
// deployments of the cluster are done.
type pendingInspection struct {
	observed release.Observed
	proof    release.Proof
	// stores reports that the objects are as this write made them. Differences that remain are
	// changes that the cluster made.
	stores bool
	// isPlanned reports that the plan showed the state of the deployment. The inspection does not
	// change that state: the wait of the write has checked it.
	isPlanned bool
}

// afterWriting is how long that inspection may take. Its result is not essential: the deployments
// exist already.
const afterWriting = 30 * time.Second

// inspect reads the objects of written releases. It stores the differences that the cluster has
// made, and the state of deployments that no write waited for. A deployment whose objects cannot
// be read stays as the write left it.
func (r *clusterRun) inspect(ctx context.Context) {
	if r.request.Settings.Drift != deploy.DriftLive || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, afterWriting)
	defer cancel()
	look := map[deploy.Key]release.Inspection{}
	written := r.results.pendingInspections(r.name)
	for key, seen := range written {
		record, known := r.results.record(key)
		if !known || seen.isPlanned && !seen.stores {
			continue
		}
		inspection := release.Inspection{Observed: seen.observed, Rules: record.Rules, Proof: seen.proof}
		if !seen.stores {
			inspection.Accepted = record.Accepted
		}
		look[key] = inspection
	}
	for key, finding := range r.runner.inspect(ctx, r.snapshot.cluster, look) {
		if finding.Err != nil {
			continue
		}
		record, _ := r.results.record(key)
		if written[key].stores {
			record.Accepted = finding.Differences()
			r.results.addAccepted(key, accepted(finding, r.request.Prior[key].Accepted, record.HidesNames))
			finding.Ready += len(finding.Modified)
			finding.Modified = nil
		}
		if written[key].isPlanned {
			r.results.addSucceeded(key, record)
			continue
		}
		observation := record.Observation(written[key].observed, release.Self)
		observation.Objects, observation.RecordChanged = &finding, finding.RecordChanged
		r.results.addSucceeded(key, record.After(observation))
	}
}

// accepted returns the fields that the cluster changed when a release was written, without those that
// state had before.
func accepted(finding release.Finding, before map[string]string, hidesNames bool) []string {
	var fields []string
	for _, modified := range finding.Modified {
		for _, difference := range modified.Differences {
			field := release.DifferenceKey(modified.Object, difference.Path)
			if _, known := before[field]; known {
				continue
			}
			if hidesNames {
				field = release.DifferenceKey("an object", difference.Path)
			}
			fields = append(fields, field)
		}
	}
	return slices.Compact(fields)
}

// unreadyCount returns how many objects are not ready according to an error.
func unreadyCount(err error) int {
	var counted interface{ Unready() int }
	if errors.As(err, &counted) {
		return counted.Unready()
	}
	return 0
}
