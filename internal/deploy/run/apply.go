package run

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Apply carries out a request on all clusters in parallel, except where the order of its
// deployments demands a wait. A failure affects one deployment and those that come after it in the
// order; the others continue. When ctx ends, nothing new is started, and running operations are
// finished.
func (r *Runner) Apply(ctx context.Context, request Request) deploy.Outcome {
	results := &results{
		prior: request.Prior, records: map[deploy.Key]deploy.Record{}, failed: map[deploy.Key]error{},
		asBefore: map[deploy.Key]bool{}, written: map[string]map[deploy.Key]pendingInspection{},
	}
	progress := newApplyProgress(ctx, r.notify, request, results)
	runs := r.clusterRuns(request, results, progress)
	var looking, removing sync.WaitGroup
	for _, v := range runs {
		looking.Go(panics.RecoveringTo(v.snapshotPanicked, "reading the cluster", func() { v.takeSnapshot(ctx) }))
	}
	if request.Create || request.writesToNewCluster() {
		looking.Wait()
		if overlapping := request.overlappingClusters(runs); len(overlapping) > 0 {
			return deploy.Outcome{Overlapping: overlapping}
		}
	}
	if request.Create && !request.Settings.Consent.All {
		if existing := request.existingOn(runs); len(existing) > 0 {
			return deploy.Outcome{Existing: existing}
		}
	}
	progress.start()
	for _, v := range runs {
		removing.Go(func() {
			<-v.snapshotTaken
			v.writes.Wait()
			// After a panic, removals count as not begun; a refresh finds the releases that no
			// longer exist.
			notRemoved := func(err error) { results.addAllUntouched(v.remove, deploy.Removing, err) }
			panics.RecoveringTo(notRemoved, deploy.Removing, func() {
				v.noteHandedOver()
				v.removeAll(ctx)
			})()
			// The records of written deployments stay as the write left them.
			notInspected := func(err error) { results.addFailed(deploy.Key{Cluster: v.name}, "reading the objects", err, nil) }
			panics.RecoveringTo(notInspected, "reading the objects", func() { v.inspect(ctx) })()
		})
	}
	schedule(ctx, request, runs, progress)
	removing.Wait()
	progress.finish()
	outcome := results.outcome()
	if ctx.Err() != nil {
		outcome.Interruption = progress.interruption()
	}
	slices.SortFunc(outcome.Failures, deploy.Failure.Compare)
	slices.SortStableFunc(outcome.Warned, policy.Violation.Compare)
	slices.SortFunc(outcome.Notices, deploy.Notice.Compare)
	return outcome
}

// recordOfWrite returns the record of a deployment that was written with a proof.
func recordOfWrite(d target.Deployment, written release.Written, proof release.Proof) deploy.Record {
	record := deploy.Record{
		Release:   written.Observed.Release,
		Namespace: written.Observed.Namespace,
		Chart:     written.Rendering.Chart,
		Version:   written.Rendering.Version,
		Digest:    d.Digest,
		Objects:   written.Rendering.Hashes(),
		Rules:     release.RulesOf(d.Options),
		Known:     knownOf(d, written, proof),

		HidesNames: written.Rendering.HidesNames, BundleLabels: d.Bundle.Labels(),
	}
	if record.HidesNames {
		record.Objects = numbered(record.Objects, d.Digest)
	}
	record.Counts.Ready = len(record.Objects)
	var facts status.Facts
	if written.NotReady != nil {
		record.Counts = record.Counts.WithoutReading(max(1, unreadyCount(written.NotReady)))
		facts.NotReady = written.NotReady.Error()
	}
	return record.With(facts)
}

// numbered returns as many objects, with numbers in place of their keys, and a hash of the deployment
// in place of their content.
func numbered(objects map[string]string, digest string) map[string]string {
	hash, made := release.ShortHash([]byte(digest)), make(map[string]string, len(objects))
	for i := range len(objects) {
		made[strconv.Itoa(i+1)] = hash
	}
	return made
}

// knownOf returns what a removal of a written release needs.
func knownOf(d target.Deployment, written release.Written, proof release.Proof) release.Known {
	return release.Known{
		Release: d.Release, Namespace: d.Namespace, UID: proof.UID, Instance: written.Observed.Mark.Instance, Digest: d.Digest,
		Key: proof.Key, Revision: max(written.Revision, written.Observed.Revision),
		TargetNamespace: d.Options.Namespace, UninstallPolicy: release.UninstallPolicyOf(d),
	}
}
