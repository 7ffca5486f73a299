package deploy

import (
	"context"
	"errors"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// releaseRemover removes releases from one cluster.
type releaseRemover struct {
	known   knownOfCluster
	seen    clusterSnapshot
	results *results
	// progress follows the removals.
	progress *applyProgress
}

func (r *clusterRun) remover() releaseRemover {
	return releaseRemover{known: r.known(), seen: r.snapshot, results: r.results, progress: r.progress}
}

// remove removes a release that state knows, without the objects to spare, and
// reports whether it removed anything. One that somebody else has taken over is left.
func (r releaseRemover) remove(ctx context.Context, key Key, known release.Known, spare map[string]string) (bool, error) {
	mark := r.known.markOf(key.Bundle, known.Digest, &known)
	take := r.known.request.Settings.TakeOwnership
	// Removing it fails if another instance has taken the release over since the cluster
	// was looked at. What was not ours then may be by now.
	observed := r.seen.snapshot.Find(known.Namespace, known.Release)
	action, err := release.DecideRemoval(mark, observed, take)
	if action != release.Uninstall {
		if observed, err = r.seen.cluster.Release(ctx, known.Namespace, known.Release); err != nil {
			return false, err
		}
		action, err = release.DecideRemoval(mark, observed, take)
	}
	if err != nil {
		return false, r.leaveToFleet(ctx, key, observed, err)
	}
	if observed == nil {
		if err := confirmGone(ctx, r.seen.cluster, known); err != nil {
			return false, err
		}
	}
	if action != release.Uninstall {
		r.results.addLeftTo(key, observed)
		return false, nil // Nothing of ours is there.
	}
	known = r.known.request.completed(known, *observed, r.seen.snapshot.UID)
	removal := release.Removal{
		Mark: mark, TakeOwnership: take, Timeout: r.known.request.Settings.Timeout,
		Known: known, KeepObjects: map[string]bool{}, NamespaceUsedBy: r.known.deployedTo(known.Namespace, key),
	}
	for object := range spare {
		removal.KeepObjects[object] = true
	}
	if listener := r.progress.deployments[key]; listener != nil {
		removal.Listener = listener
	}
	removed, err := r.seen.cluster.Uninstall(ctx, *observed, removal)
	r.results.addLeftBehind(key, removed)
	return true, err
}

// leaveToFleet is nil, with a notice, if Fleet's agent goes on with a release. What
// somebody has changed by hand is an error: nobody would know of it any more.
func (r releaseRemover) leaveToFleet(ctx context.Context, key Key, observed *release.Observed, err error) error {
	err = withMaker(ctx, r.seen.cluster, observed, err)
	if foreign, ok := errors.AsType[*release.ForeignError](err); ok && foreign.Maker.Fleet {
		r.results.notice(Notice{Cluster: key.Cluster, Bundle: key.Bundle, LeftTo: foreign.Maker.Name})
		return nil
	}
	return err
}
