package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// removal is the part of an apply that removes deployments. It begins after all bundles are
// written.
type removal struct{ *applyRun }

// all removes the deployments of all bundles: each bundle after those that depend on it.
func (r removal) all(ctx context.Context) {
	removed := map[string][]deploy.Key{}
	for _, key := range r.remove {
		removed[key.Bundle] = append(removed[key.Bundle], key)
	}
	bundles := slices.Sorted(maps.Keys(removed))
	before, ended := rollout.RemovalDependencies(bundles, r.request.Needs), map[string]chan struct{}{}
	for _, name := range bundles {
		ended[name] = make(chan struct{})
	}
	var removing sync.WaitGroup
	for _, name := range bundles {
		keys := removed[name]
		failed := func(err error) { r.untouchedAll(keys, deploy.Removing, err) }
		removing.Go(func() {
			defer close(ended[name])
			for _, dependant := range before[name] {
				<-ended[dependant]
			}
			panics.RecoveringTo(failed, deploy.Removing, func() { r.bundle(ctx, name, r.withoutHeld(keys, before[name])) })()
		})
	}
	removing.Wait()
}

// withoutHeld returns the deployments that no other bundle depends on any more.
func (r removal) withoutHeld(keys []deploy.Key, dependants []string) []deploy.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(key deploy.Key) bool {
		i := slices.IndexFunc(dependants, func(bundle string) bool { return !r.hasSucceeded(deploy.Key{Cluster: key.Cluster, Bundle: bundle}) })
		if i < 0 {
			return false
		}
		reason := fmt.Sprintf("bundle %s, which depends on it, could not be removed", dependants[i])
		r.untouched(key, deploy.Removing, &rollout.HeldError{Reason: reason})
		return true
	})
}

// bundle removes a bundle from clusters in two steps. First the agents deploy an empty chart in its
// place, and bundle waits for that. Then Fleet deletes the BundleDeployments.
func (r removal) bundle(ctx context.Context, bundle string, keys []deploy.Key) {
	name := r.nameOf(bundle)
	if len(keys) == 0 {
		return
	}
	fail := func(keys []deploy.Key, err error) { r.untouchedAll(keys, deploy.Removing, err) }
	for _, key := range keys {
		r.start(key)
	}
	if err := r.slots.Acquire(ctx, 1); err != nil {
		fail(keys, context.Cause(ctx))
		return
	}
	emptied, digest, err := r.empty(ctx, bundle, name, keys)
	r.slots.Release(1)
	if foreign, is := errors.AsType[*ForeignError](err); is && foreign.isOf(r.request.Mark(bundle, "")) {
		for _, key := range keys {
			r.notice(deploy.Notice{Cluster: key.Cluster, Bundle: key.Bundle, LeftTo: foreign.Mark.OwnerText()})
		}
		return
	}
	if err != nil {
		fail(keys, err)
		return
	}
	left := r.awaitEach(ctx, name, digest, emptied, func(bd *bundleDeployment) bool { return bd.isRemoved(digest) }, errStillThere)
	dropped := slices.DeleteFunc(slices.Clone(keys), func(key deploy.Key) bool { return left[key.Cluster] != nil })
	for _, key := range keys {
		if err := left[key.Cluster]; err != nil {
			prior := r.request.Prior[key]
			prior.Counts = prior.Counts.Unseen()
			failed := prior.With(status.Facts{Failed: err.Error()})
			r.fail(key, deploy.Removing, err, &failed)
		}
	}
	if len(dropped) == 0 {
		return
	}
	digest, err = r.drop(ctx, bundle, name, dropped)
	if err != nil {
		fail(dropped, err)
		return
	}
	forgotten := r.awaitDropped(ctx, name, dropped)
	if digest != "" {
		r.awaitOthers(ctx, name, digest)
		return
	}
	if len(forgotten) == 0 {
		return
	}
	if err := r.store.awaitDeleted(ctx, name); err != nil {
		fail(forgotten, err)
	}
}

// empty gives clusters the empty chart. emptied are the clusters whose agents can deploy it.
func (r removal) empty(ctx context.Context, bundle, name string, keys []deploy.Key) (emptied []string, digest string, err error) {
	digest, err = r.change(ctx, bundle, name, func(before *stored, wanted *content) {
		emptied = nil
		folder, isKustomized, found := findEmptyFolder(wanted.Resources)
		for _, key := range keys {
			of, there := wanted.entries[key.Cluster]
			if !there || !found || !r.canEmpty(key, of) {
				continue
			}
			wanted.entries[key.Cluster] = r.forceSync(name, key.Cluster, before, of.gone(folder, isKustomized))
			emptied = append(emptied, key.Cluster)
		}
		if len(emptied) == len(wanted.entries) {
			wanted.DependsOn = nil // The bundles that it depends on may no longer exist.
		}
	})
	return emptied, digest, err
}

// change changes the content of a Bundle, if there is one. It can call edits several times.
func (r removal) change(ctx context.Context, bundle, name string, edits func(before *stored, wanted *content)) (digest string, err error) {
	change := func(before *stored) (content, error) {
		if before == nil {
			return content{}, nil
		}
		wanted := before.content
		wanted.entries = maps.Clone(wanted.entries)
		edits(before, &wanted)
		return wanted, nil
	}
	return r.store.apply(ctx, edit{name: name, bundle: bundle, mark: r.request.Mark(bundle, ""), change: change})
}

// canEmpty reports whether an agent can be given the empty chart in place of a deployment.
func (r *applyRun) canEmpty(key deploy.Key, of entry) bool {
	return !of.keepsResources() && !r.isOffline(key) && !r.isClaimed(key)
}

// isOffline reports whether a cluster has no agent that would carry out the first step of a
// removal.
func (r *applyRun) isOffline(key deploy.Key) bool {
	of, known := r.view.clusters[key.Cluster]
	return !known || of.offline
}

// isClaimed reports whether another deployment on the cluster has the release now. The agent then
// leaves the release in place when Fleet deletes the former deployment.
func (r *applyRun) isClaimed(key deploy.Key) bool {
	prior := r.request.Prior[key]
	for _, d := range r.request.Write {
		if d.Cluster == key.Cluster && d.Release == prior.Release && d.Namespace == prior.Namespace && d.Bundle.Name != key.Bundle {
			return true
		}
	}
	return slices.ContainsFunc(r.request.Keep, func(other deploy.Key) bool {
		of := r.request.Prior[other]
		return other != key && other.Cluster == key.Cluster && of.Release == prior.Release && of.Namespace == prior.Namespace
	})
}

var errStillThere = errors.New("the agent has not removed everything yet")

// awaitEach waits until the deployments of a Bundle are done. It returns an error for each cluster
// whose deployment is not: pending if no other reason is known. A deployment that Fleet does not
// have is done.
func (r removal) awaitEach(
	ctx context.Context, name, digest string, clusters []string, isDone func(*bundleDeployment) bool, pending error,
) map[string]error {
	var (
		mu      sync.Mutex
		waiting sync.WaitGroup
	)
	left := map[string]error{}
	note := func(cluster string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			left[cluster] = err
		}
	}
	for _, cluster := range clusters {
		waiting.Go(panics.RecoveringTo(func(err error) { note(cluster, err) }, "waiting for an agent", func() {
			var starved starving
			note(cluster, r.until(ctx, deploymentID{name, cluster}, r.request.Settings.Timeout, func(bd *bundleDeployment) error {
				if bd == nil || isDone(bd) {
					return nil
				}
				s := sighting{deployment: bd, digest: digest, agent: r.view.clusters[cluster].agent}
				if err := starved.mend(ctx, r.applyRun, s); err != nil {
					return err
				}
				if state, text := s.facts(r.engine.texts).State(); state != status.Ready {
					return &StateError{State: state, Message: firstText(text, pending.Error())}
				}
				return pending
			}))
		}))
	}
	waiting.Wait()
	return left
}

// until waits until check returns nil. After limit, it returns the last error.
func (r removal) until(ctx context.Context, id deploymentID, limit time.Duration, check func(*bundleDeployment) error) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		bd, changed, err := r.tracker.deployment(id)
		failure := check(bd)
		if failure == nil {
			return nil
		}
		if err == nil {
			err = failure
		}
		select {
		case <-changed:
		case <-time.After(recheck):
		case <-deadline.C:
			return fmt.Errorf("after %s: %w", limit, err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// drop removes clusters from a Bundle, and returns the new digest of the Bundle. If no cluster is
// left, it deletes the Bundle and returns "".
func (r removal) drop(ctx context.Context, bundle, name string, keys []deploy.Key) (digest string, err error) {
	return r.change(ctx, bundle, name, func(_ *stored, wanted *content) {
		for _, key := range keys {
			delete(wanted.entries, key.Cluster)
		}
	})
}

// forgetTime is how long Fleet's controller may take to delete the next BundleDeployment.
const forgetTime = time.Minute

// awaitDropped waits until Fleet has deleted the BundleDeployments of deployments, and returns
// these deployments. It adds a notice for each release that stays on its cluster because the agent
// is offline.
func (r removal) awaitDropped(ctx context.Context, name string, keys []deploy.Key) (forgotten []deploy.Key) {
	left, err := r.awaitForgotten(ctx, name, keys)
	for _, key := range keys {
		if slices.Contains(left, key) {
			prior := r.request.Prior[key]
			r.fail(key, deploy.Removing, err, &prior)
			continue
		}
		forgotten = append(forgotten, key)
		r.noticeRemains(key)
	}
	return forgotten
}

// awaitForgotten waits until Fleet has deleted the BundleDeployments of deployments. Fleet deletes
// only some of them a second, those of all Bundles one after the other, so the timeout begins again
// with each, also of another target. left are the deployments that Fleet still has, and err is the reason.
func (r removal) awaitForgotten(ctx context.Context, name string, keys []deploy.Key) (left []deploy.Key, err error) {
	isForgotten := func(key deploy.Key) bool {
		bd, _, _ := r.tracker.deployment(deploymentID{name, key.Cluster})
		return bd == nil
	}
	for left = slices.Clone(keys); len(left) > 0; {
		before := r.engine.deleted.Load()
		err = r.until(ctx, deploymentID{name, left[0].Cluster}, forgetTime, func(bd *bundleDeployment) error {
			if bd == nil {
				return nil
			}
			return &StateError{State: status.WaitApplied, Text: "Fleet's controller has not deleted its BundleDeployment yet"}
		})
		left = slices.DeleteFunc(left, isForgotten)
		if err != nil && (r.engine.deleted.Load() == before || ctx.Err() != nil) {
			return left, err
		}
	}
	return nil, nil
}

// noticeRemains reports a release that stays on its cluster until the agent is back.
func (r removal) noticeRemains(key deploy.Key) {
	if !r.isOffline(key) || r.isClaimed(key) {
		return
	}
	prior := r.request.Prior[key]
	remains := "release " + release.Key(prior.Namespace, prior.Release) + r.view.clusters[key.Cluster].text()
	r.notice(deploy.Notice{Cluster: key.Cluster, Bundle: key.Bundle, Remains: remains})
}
