package run

import (
	"context"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// removeRelease removes a release that is in state, without the objects to spare. It reports whether it
// removed anything. A release that another owner has taken over stays.
func (r *clusterRun) removeRelease(ctx context.Context, key deploy.Key, known release.Known, spare map[string]string) (bool, error) {
	claimant := r.request.Claimant(key.Bundle, known.Digest, r.snapshot.snapshot.UID, &known)
	take := r.request.Settings.Consent.To(key)
	// The removal fails if another instance has taken the release over since the cluster was read.
	// A release that had another owner then may belong to this target now.
	observed := r.snapshot.snapshot.Find(known.Namespace, known.Release)
	action, err := release.DecideRemoval(claimant, observed, take)
	if action != release.Uninstall {
		if observed, err = r.snapshot.cluster.Release(ctx, known.Namespace, known.Release); err != nil {
			return false, err
		}
		action, err = release.DecideRemoval(claimant, observed, take)
	}
	if err != nil && r.isTakenOver(*observed) {
		action, err = release.Keep, nil
	}
	if err != nil {
		return false, withCreator(ctx, r.snapshot.cluster, observed, err)
	}
	if observed == nil {
		if err := confirmMissing(ctx, r.snapshot.cluster, known); err != nil {
			return false, err
		}
	}
	if action != release.Uninstall {
		r.results.addLeftTo(key, observed)
		return false, nil // No release of this target is there.
	}
	removal := release.Removal{
		Mark: claimant.Mark, Proof: claimant.Proof, TakeOwnership: take, Timeout: r.request.Settings.Timeout,
		Known: known, KeepObjects: map[string]bool{}, NamespaceUsedBy: r.known().deployedTo(known.Namespace, key),
	}
	if prior := r.request.Prior[key]; release.Key(prior.Namespace, prior.Release) == release.Key(known.Namespace, known.Release) {
		removal.Objects = slices.Sorted(maps.Keys(prior.NamedObjects()))
	}
	for object := range spare {
		removal.KeepObjects[object] = true
	}
	if listener := r.progress.deployments[key]; listener != nil {
		removal.Listener = listener
	}
	removed, err := r.snapshot.cluster.Uninstall(ctx, *observed, removal)
	r.results.addLeftBehind(key, removed)
	return true, err
}

// isTakenOver reports whether another target of this process wrote the newest record, as with
// create_before_destroy and take_ownership.
func (r *clusterRun) isTakenOver(observed release.Observed) bool {
	if r.request.Keys == nil {
		return false
	}
	return slices.ContainsFunc(r.request.Keys(), func(key string) bool {
		_, proven := release.Claimant{Proof: release.Proof{Key: key, UID: r.snapshot.snapshot.UID}}.ProofOf(observed)
		return proven && observed.Mark.Instance != r.request.Instance
	})
}
