package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
)

// clusterRemoval removes the deployments of one cluster that are to be uninstalled.
type clusterRemoval struct {
	run *clusterRun
	// before maps a bundle to the bundles that are removed before it.
	before map[string][]string
	// ended maps a bundle to a channel that is closed when its removal ended. kept contains the
	// bundles that were not removed.
	ended map[string]chan struct{}
	kept  sync.Map
}

// removeAll removes in reverse order: a bundle is removed after the bundles that depend on it.
func (r *clusterRun) removeAll(ctx context.Context) {
	if r.snapshot.err != nil {
		r.results.addAllUntouched(r.remove, "reading the cluster before removing", r.snapshot.err)
		for _, key := range r.remove {
			r.progress.end(key)
		}
		return
	}
	bundles, c := make([]string, len(r.remove)), &clusterRemoval{run: r, ended: map[string]chan struct{}{}}
	for i, key := range r.remove {
		bundles[i], c.ended[key.Bundle] = key.Bundle, make(chan struct{})
	}
	c.before = rollout.RemovalDependencies(bundles, r.request.Needs)
	var removing sync.WaitGroup
	for _, key := range r.remove {
		failed := func(err error) { r.results.addUntouched(key, deploy.Removing, err) }
		removing.Go(panics.RecoveringTo(failed, deploy.Removing, func() { c.removeInTurn(ctx, key) }))
	}
	removing.Wait()
}

// removeInTurn removes one deployment after those that depend on it, unless one of them still
// exists.
func (c *clusterRemoval) removeInTurn(ctx context.Context, key deploy.Key) {
	defer close(c.ended[key.Bundle])
	defer c.run.progress.end(key)
	isRemoved := false
	defer func() {
		if !isRemoved {
			c.kept.Store(key.Bundle, true)
		}
	}()
	if err := c.run.request.Blocked[key]; err != nil {
		c.run.results.addHeld(key, deploy.Removing, err)
		return
	}
	for _, dependant := range c.before[key.Bundle] {
		<-c.ended[dependant]
	}
	for _, dependant := range c.before[key.Bundle] {
		if _, failed := c.kept.Load(dependant); failed {
			reason := fmt.Sprintf("bundle %s, which depends on it, could not be removed", dependant)
			c.run.results.addHeld(key, deploy.Removing, &rollout.HeldError{Reason: reason})
			return
		}
	}
	isRemoved = c.uninstall(ctx, key)
}

// uninstall removes the releases of one deployment. It reports whether all of them are removed or
// belong to another deployment or owner now.
func (c *clusterRemoval) uninstall(ctx context.Context, key deploy.Key) bool {
	prior := c.run.request.Prior[key]
	releases := slices.DeleteFunc(prior.Releases(), func(known release.Known) bool {
		return c.run.claimed()[release.Key(known.Namespace, known.Release)] // Another deployment has it now, whether its write succeeded or not.
	})
	if len(releases) == 0 {
		return true
	}
	if left := c.run.taken.missing(c.run.moves.Leaving[key.Bundle]); left != nil {
		c.run.results.addHeld(key, deploy.Removing, notTakenOverError(left))
		return false
	}
	slot, err := c.run.runner.acquire(ctx)
	if err != nil {
		c.run.results.addUntouched(key, deploy.Removing, err)
		return false
	}
	defer slot.Pause()
	c.run.progress.deployments[key].start(release.Uninstall)
	touched := false
	for _, known := range releases {
		removed, failure := c.run.removeRelease(ctx, key, known, nil)
		touched = touched || removed
		err = errors.Join(err, failure)
	}
	switch {
	case err == nil:
		return true
	case touched:
		prior.Counts = prior.Counts.Unseen()
		c.run.results.addFailed(key, deploy.Removing, err, &prior)
	default:
		c.run.results.addUntouched(key, deploy.Removing, err)
	}
	return false
}
