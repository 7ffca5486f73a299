package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// deploymentWrite is the write of one deployment.
type deploymentWrite struct {
	run *clusterRun
	d   target.Deployment
	key deploy.Key
	// prior is what state has of the deployment, if it had it.
	prior deploy.Record
	had   bool
}

func (r *clusterRun) writeOf(d target.Deployment) *deploymentWrite {
	prior, had := r.request.Prior[deploy.KeyOf(d)]
	return &deploymentWrite{run: r, d: d, key: deploy.KeyOf(d), prior: prior, had: had}
}

// deploy decides and writes, and returns the record of the deployment, nil when it failed.
func (w *deploymentWrite) deploy(ctx context.Context) *deploy.Record {
	observed, err := w.run.snapshot.find(ctx, w.run.runner, w.d.Namespace, w.d.Release)
	if err != nil {
		return w.reportUnwritten(lookingUp, err)
	}
	// The wait needs no slot.
	observed, err = w.awaitRemoval(ctx, observed)
	if err != nil {
		return w.reportUnwritten("waiting for another target to remove the release", err)
	}
	slot, err := w.run.runner.acquire(ctx)
	if err != nil {
		return w.reportUnwritten("deploying", err)
	}
	defer slot.Pause()

	if err := w.pin(ctx); err != nil {
		return w.reportUnwritten("reading the objects in helm.valuesFrom", err)
	}
	known := w.run.known().find(w.d.Namespace, w.d.Release)
	if observed == nil && known != nil {
		if err := confirmMissing(ctx, w.run.snapshot.cluster, *known); err != nil {
			return w.reportUnwritten(lookingUp, err)
		}
	}
	options := w.options(slot)
	takes := w.run.request.Settings.Consent.To(w.key)
	action, err := release.Decide(deploy.FactsOf(w.d, w.run.request.Prior), options.Claimant(), observed, takes)
	if err != nil {
		return w.reportUnwritten("deploying", withCreator(ctx, w.run.snapshot.cluster, observed, err))
	}
	w.listener().start(action)
	action, written, err := w.write(ctx, action, observed, options)
	if err != nil {
		w.run.results.addFailed(w.key, action.Doing(), err, w.stateAfterFailure(ctx, written))
		return nil
	}
	return w.finish(ctx, action, written, slot)
}

// reportUnwritten notes that nothing was written.
func (w *deploymentWrite) reportUnwritten(doing string, err error) *deploy.Record {
	w.run.results.addUntouched(w.key, doing, err)
	return nil
}

// pin sets the digest of a deployment whose values come from objects that have not been read yet.
func (w *deploymentWrite) pin(ctx context.Context) error {
	if !w.d.Unpinned {
		return nil
	}
	versions, err := w.run.snapshot.cluster.Versions(ctx, w.d.References())
	if err != nil {
		return err
	}
	w.run.results.addVersions(w.d.Cluster, versions)
	w.d = w.d.Pinned(versions)
	return nil
}

// options returns the options of the write.
func (w *deploymentWrite) options(slot release.Slot) release.Write {
	options := w.run.request.Settings.write(w.d, w.claimant())
	options.Mark.UninstallPolicy, options.Mark.Text = release.UninstallPolicyOf(w.d), release.TextOriginOf(w.d)
	for _, former := range w.prior.Releases() {
		if at := release.Key(former.Namespace, former.Release); at != release.Key(w.d.Namespace, w.d.Release) {
			options.Former = append(options.Former, at)
		}
	}
	options.Owns = w.run.known().has
	options.Taken, options.KeepObjects = w.run.moves.Arriving[w.key.Bundle], w.run.moves.Leaving[w.key.Bundle]
	options.NamespaceUsedBy = w.run.known().deployedTo(w.d.Namespace, w.key)
	options.Slot, options.Listener = slot, w.listener()
	options.Planned = w.run.request.Planned[w.key]
	options.Check = w.check()
	return options
}

// claimant returns the target in relation to the release.
func (w *deploymentWrite) claimant() release.Claimant {
	return w.run.known().claimant(w.d.Bundle.Name, w.d.Digest, w.d.Namespace, w.d.Release)
}

func (w *deploymentWrite) listener() *deploymentProgress { return w.run.progress.deployments[w.key] }

// write carries out an action. If the existing release has other objects than the plan showed, or
// its content is not proven, write upgrades it afterwards. It returns the last action that was
// carried out.
func (w *deploymentWrite) write(
	ctx context.Context, action release.Action, observed *release.Observed, options release.Write,
) (release.Action, release.Written, error) {
	cluster := w.run.snapshot.cluster
	written, err := cluster.Write(ctx, action, w.d, observed, options)
	planned, promised := w.run.request.Planned[w.key]
	if err == nil && !action.Writes() && (written.Untrusted || promised && !release.MatchesPlanned(written.Rendering.Hashes(), planned)) {
		// The record was changed, or the release was deployed when its cluster had other capabilities.
		action = action.WithRewrite(true)
		if err = options.Slot.Resume(ctx); err == nil {
			written, err = cluster.Write(ctx, action, w.d, &written.Observed, options)
		}
	}
	return action, written, err
}

// finish notes what was written and removes the releases that the deployment had before.
func (w *deploymentWrite) finish(ctx context.Context, action release.Action, written release.Written, slot release.Slot) *deploy.Record {
	w.run.taken.by(w.key.Bundle)
	claimant := w.claimant()
	record := recordOfWrite(w.d, written, claimant.Proof)
	isPlanned := w.run.request.Ready[w.key]
	if !action.Writes() {
		isPlanned = isPlanned || w.stays()
		if err := w.adopt(ctx, &record, written, slot); err != nil {
			w.run.results.addKept(w.key, action.Doing(), err, &record)
			return nil
		}
	}
	w.run.results.addWritten(w.key, pendingInspection{
		observed: written.Observed, proof: claimant.Proof, stores: action.Writes(), isPlanned: isPlanned,
	})
	if err := w.removeFormer(ctx, &record, written, slot); err != nil {
		w.run.results.addFailed(w.key, "removing the former release", err, &record)
		return nil
	}
	w.run.results.addSucceeded(w.key, record)
	w.run.results.addLeftBehind(w.key, release.Removed{NotOwned: written.NotOwned})
	return &record
}

// stays reports whether the plan showed that nothing of the deployment is written.
func (w *deploymentWrite) stays() bool { return !deploy.FactsOf(w.d, w.run.request.Prior).NeedsWrite() }

// adopt completes the record of a release of which no revision was written. The state that the
// plan copied stays. The plan can show a release as ready that was not known to be ready, such as
// one that a killed apply left. Then adopt waits for the objects, as a write would.
func (w *deploymentWrite) adopt(ctx context.Context, record *deploy.Record, written release.Written, slot release.Slot) error {
	record.Accepted = w.prior.Accepted
	if w.prior.HidesNames && !record.HidesNames {
		record.HidesNames, record.Objects = true, numbered(record.Objects, record.Digest)
	}
	ready := w.run.request.Ready[w.key]
	if w.stays() && (!ready || w.prior.State == status.Ready) {
		record.State = w.prior.State
		record.Message = w.prior.Message
		record.Counts = w.prior.Counts
		record.NamesVary = w.prior.NamesVary
		return nil
	}
	if !ready {
		return nil
	}
	slot.Pause()
	observation := status.Observation{Release: &written.Observed, Ownership: release.Self}
	state, message, err := stateWhenReady(ctx, w.run.snapshot.cluster, observation, record.Rules, w.run.request.Settings.TimeoutOf(w.d))
	if err != nil {
		return status.Named(err, "waiting for the objects of release %s in namespace %s", record.Release, record.Namespace)
	}
	if state == status.Ready {
		return nil
	}
	record.State, record.Message = state, message
	return fmt.Errorf("release %s in namespace %s is %s: %s", record.Release, record.Namespace, state, message)
}

// removeFormer removes the releases that a deployment had before, but not the objects that the new
// release has. Releases that could not be removed stay in the record.
func (w *deploymentWrite) removeFormer(ctx context.Context, record *deploy.Record, written release.Written, slot release.Slot) error {
	var errs []error
	for _, known := range w.prior.Releases() {
		at := release.Key(known.Namespace, known.Release)
		if at == release.Key(record.Namespace, record.Release) || w.run.written[at] {
			continue
		}
		err := slot.Resume(ctx)
		if err == nil {
			_, err = w.run.removeRelease(ctx, w.key, known, written.Rendering.Hashes())
		}
		if err != nil {
			record.Leftovers, errs = append(record.Leftovers, known), append(errs, err)
		}
	}
	return errors.Join(errs...)
}
