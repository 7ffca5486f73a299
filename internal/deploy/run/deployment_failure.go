package run

import (
	"context"
	"slices"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// stateAfterFailure reads what a failed write left on the cluster, and returns nil when no release
// exists. If the cluster cannot be read, the deployment counts as existing, so that a later
// removal checks again.
func (w *deploymentWrite) stateAfterFailure(ctx context.Context, written release.Written) *deploy.Record {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	d := w.d
	prior := w.prior
	known := w.knownAfterFailure(written)
	observed, err := w.run.snapshot.cluster.Release(ctx, d.Namespace, d.Release)
	if w.had && !prior.IsAt(d) {
		// The working release is the one that the deployment was to move from. The new release may
		// exist as well.
		if err != nil || release.Exists(observed) {
			known = w.seen(known, observed)
			prior.Leftovers = append(without(prior.Leftovers, known), known)
		}
		return &prior
	}
	left := deploy.Record{
		Release: d.Release, Namespace: d.Namespace, Chart: prior.Chart, Version: prior.Version,
		Objects: prior.Objects,
		Counts:  prior.Counts.Unseen(), Rules: release.RulesOf(d.Options), Accepted: prior.Accepted,
		HandedOver: prior.HandedOver, HidesNames: prior.HidesNames, BundleLabels: prior.BundleLabels, Known: known, Leftovers: prior.Leftovers,
	}
	if !w.had || written.Revision != 0 {
		left.BundleLabels = d.Bundle.Labels()
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
	left.Known = w.seen(known, observed)
	if claimant := w.claimant(); claimant.Trusts(*observed) {
		left.Digest = observed.Mark.Digest
		proof, _ := claimant.ProofOf(*observed)
		w.run.results.addWritten(w.key, pendingInspection{observed: *observed, proof: proof})
	}
	return &left
}

// seen returns known with the newest revision, if the target wrote it.
func (w *deploymentWrite) seen(known release.Known, observed *release.Observed) release.Known {
	if observed != nil && w.claimant().Trusts(*observed) {
		known.Revision = observed.Revision
	}
	return known
}

// failWithPanic notes a deployment whose work ended in a panic. The deployment counts as existing,
// so that a refresh searches for it.
func (w *deploymentWrite) failWithPanic(err error) {
	const doing = "deploying"
	d := w.d
	if w.had {
		w.run.results.addUntouched(w.key, doing, err)
		return
	}
	w.run.results.addFailed(w.key, doing, err, &deploy.Record{
		Release: d.Release, Namespace: d.Namespace, Rules: release.RulesOf(d.Options),
		BundleLabels: d.Bundle.Labels(), Known: w.knownAfterFailure(release.Written{}),
	})
}

// knownAfterFailure returns what state is to record of a release whose write failed. If the write
// made no record, this is what was recorded before.
func (w *deploymentWrite) knownAfterFailure(written release.Written) release.Known {
	claimant := w.claimant()
	if claimant.Known != nil && written.Revision == 0 {
		return *claimant.Known
	}
	known := knownOf(w.d, written, claimant.Proof)
	known.Instance = claimant.Mark.Instance
	return known
}

// without returns the releases of a deployment without one of them.
func without(left []release.Known, gone release.Known) []release.Known {
	return slices.DeleteFunc(slices.Clone(left), func(known release.Known) bool {
		return known.Namespace == gone.Namespace && known.Release == gone.Release
	})
}
