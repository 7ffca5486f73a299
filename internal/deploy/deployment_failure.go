package deploy

import (
	"context"
	"slices"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// stateAfterFailure finds out what a failed write left behind; nil when nothing is there.
// When that cannot be found out either, the deployment counts as there, so that
// a later removal looks again.
func (w *deploymentWrite) stateAfterFailure(ctx context.Context, written release.Written) *Record {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	d, prior, known := w.d, w.prior, w.knownAfterFailure(written)
	observed, err := w.run.snapshot.cluster.Release(ctx, d.Namespace, d.Release)
	if w.had && !prior.isAt(d) {
		// The release that works is the one it was to move from. The other one may be
		// there as well.
		prior.State = status.ErrApplied
		if err != nil || release.Exists(observed) {
			if observed != nil {
				known.Revision = observed.Revision
			}
			prior.Left = append(without(prior.Left, known), known)
		}
		return &prior
	}
	left := Record{
		Release: d.Release, Namespace: d.Namespace, Chart: prior.Chart, Version: prior.Version,
		State: status.ErrApplied, Objects: prior.Objects,
		Counts: prior.Counts.Unseen(), Rules: release.RulesOf(d.Options), Stored: prior.Stored,
		Yielded: prior.Yielded, Known: known, Left: prior.Left,
	}
	if err != nil {
		return &left
	}
	if !release.Exists(observed) {
		w.run.results.addAsBefore(w.key)
		return nil
	}
	if w.had && observed.Status == release.StatusDeployed { // It was rolled back, or nothing was written.
		w.run.results.addAsBefore(w.key)
	}
	left.Known.Revision = observed.Revision
	if w.run.known().ownership(*observed).IsByTarget() {
		left.Digest = observed.Mark.Digest
		w.run.results.addWritten(w.key, pendingInspection{observed: *observed})
	}
	return &left
}

// failWithPanic notes a deployment whose work ended in a panic. It counts as there, so that a
// refresh looks for it.
func (w *deploymentWrite) failWithPanic(err error) {
	const doing = "deploying"
	d := w.d
	if w.had {
		w.run.results.addUntouched(w.key, doing, err)
		return
	}
	w.run.results.addFailed(w.key, doing, err, &Record{
		Release: d.Release, Namespace: d.Namespace, State: status.ErrApplied, Rules: release.RulesOf(d.Options),
		Known: w.knownAfterFailure(release.Written{}),
	})
}

// knownAfterFailure is what state is to know of a release whose write failed. Content is
// that of the record which the write made, else what state knew before.
func (w *deploymentWrite) knownAfterFailure(written release.Written) release.Known {
	known := knownOf(w.d, written, w.run.snapshot.snapshot.UID)
	known.Instance = w.run.request.mark("", "").Instance
	before := w.run.known().find(w.d.Namespace, w.d.Release)
	if before == nil {
		return known
	}
	if written.Content == "" {
		return *before
	}
	known.Revision = max(known.Revision, before.Revision)
	return known
}

// without leaves a release out of those of a deployment.
func without(left []release.Known, gone release.Known) []release.Known {
	return slices.DeleteFunc(slices.Clone(left), func(known release.Known) bool {
		return known.Namespace == gone.Namespace && known.Release == gone.Release
	})
}
