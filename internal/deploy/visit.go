package deploy

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// visit is the part of a request that concerns one cluster.
type visit struct {
	engine  *Engine
	request Request
	name    string
	// remove are the deployments to uninstall there, after all writes came to an end.
	remove []Key
	writes sync.WaitGroup
	// looked is closed once the cluster was looked at; seen is what was seen then.
	looked chan struct{}
	seen   sight
	sights *panorama
	// written are the releases that this request writes there, by release.Key, and
	// claimed all that the cluster is to have, under whatever name. It waits until
	// all clusters have been looked at.
	written map[string]bool
	claimed func() map[string]bool
	results *results
}

// visits makes the visits that a request needs, by cluster.
func (e *Engine) visits(request Request, results *results) map[string]*visit {
	visits, sights := map[string]*visit{}, &panorama{}
	claims := sync.OnceValue(func() map[string]map[string]bool { return request.claims(sights.all()) })
	to := func(cluster string) *visit {
		if visits[cluster] == nil {
			visits[cluster] = &visit{
				engine: e, request: request, name: cluster, looked: make(chan struct{}), sights: sights,
				written: map[string]bool{}, results: results,
				// No write waits for another cluster's answer. Only a removal has to know
				// whether that is the same cluster under another name.
				claimed: func() map[string]bool { return claims()[request.identity(cluster, sights.all())] },
			}
		}
		return visits[cluster]
	}
	for _, d := range request.Write {
		v := to(d.Cluster)
		v.written[release.Key(d.Namespace, d.Release)] = true
		v.writes.Add(1)
	}
	for _, key := range request.Remove {
		v := to(key.Cluster)
		v.remove = append(v.remove, key)
	}
	sights.expect(len(visits))
	return visits
}

// look looks at the cluster before anything is done there.
func (v *visit) look(ctx context.Context) {
	v.seen = v.engine.sight(ctx, v.name)
	v.sights.add(v.name, v.seen)
	close(v.looked)
}

// sight is what was seen of a cluster.
type sight struct {
	cluster  Cluster
	snapshot release.Snapshot
	err      error
}

func (e *Engine) sight(ctx context.Context, name string) sight {
	var seen sight
	seen.cluster, seen.snapshot, seen.err = e.lookAhead(ctx, name)
	return seen
}

// panorama collects what was seen of all clusters of a request.
type panorama struct {
	looking sync.WaitGroup

	mu    sync.Mutex
	found map[string]sight
}

func (p *panorama) expect(clusters int) {
	p.looking.Add(clusters)
	p.found = make(map[string]sight, clusters)
}

func (p *panorama) add(cluster string, seen sight) {
	p.mu.Lock()
	p.found[cluster] = seen
	p.mu.Unlock()
	p.looking.Done()
}

// all waits until every cluster was looked at.
func (p *panorama) all() map[string]sight {
	p.looking.Wait()
	return p.found
}

// write carries out one deployment and answers its record, nil when it failed.
func (v *visit) write(ctx context.Context, d target.Deployment) *Record {
	key := keyOf(d)
	prior, had := v.request.Prior[key]
	moved := had && (prior.Release != d.Release || prior.Namespace != d.Namespace)
	observed := v.seen.snapshot.Find(d.Namespace, d.Release)
	// Both can wait for the plan of another target, which may need a slot.
	contested := v.isContested(ctx, d, observed)
	leavesOld := moved && v.isHandedOver(ctx, key.Cluster, prior)
	slot, err := v.engine.slot(ctx)
	if err != nil {
		v.results.untouched(key, "deploying", err)
		return nil
	}
	defer slot.Pause()

	d, err = v.pinned(ctx, d)
	if err != nil {
		v.results.untouched(key, "reading the objects that values come from", err)
		return nil
	}
	mark := v.request.mark(d.Bundle.Name, d.Digest)
	mark.Terms = release.TermsOf(d)
	action, err := v.decide(mark, observed, contested)
	if err != nil {
		v.results.untouched(key, "deploying", err)
		return nil
	}
	action = release.Correct(action, prior.Corrects(d))
	write := v.request.Settings.write(d, mark)
	// What moves takes its own objects along.
	write.TakeOwnership = write.TakeOwnership || moved
	write.Turn = slot
	written, err := v.seen.cluster.Write(ctx, action, d, observed, write)
	if planned, promised := v.request.Planned[key]; err == nil && promised && !writes(action) && !maps.Equal(written.Rendering.Hashes(), planned) {
		// It was deployed when its cluster could do other things.
		action = release.Upgrade
		if err = slot.Resume(ctx); err == nil {
			written, err = v.seen.cluster.Write(ctx, action, d, &written.Observed, write)
		}
	}
	if err != nil {
		v.results.failed(key, action.Doing(), err, v.truth(ctx, d, prior, moved))
		return nil
	}
	record := recordOf(d, written)
	if !writes(action) {
		record.Stored = prior.Stored
	}
	v.results.wrote(key, sighted{observed: written.Observed, stores: writes(action)})
	if moved && !leavesOld {
		err := slot.Resume(ctx)
		if err == nil {
			err = v.removeOld(ctx, key, prior, mark, written)
		}
		if err != nil {
			// Under its old name the deployment counts as still to be moved, and
			// the next apply takes up where this one stopped.
			record.Release, record.Namespace, record.State = prior.Release, prior.Namespace, status.ErrApplied
			v.results.failed(key, "removing the release it moved from", err, &record)
			return nil
		}
	}
	v.results.succeeded(key, record)
	return &record
}

// writes says whether an action makes a revision.
func writes(action release.Action) bool { return action != release.Keep && action != release.Adopt }

// pinned settles the digest of a deployment whose values come from objects that
// nobody has looked at yet.
func (v *visit) pinned(ctx context.Context, d target.Deployment) (target.Deployment, error) {
	if !d.Unpinned {
		return d, nil
	}
	versions, err := v.seen.cluster.Versions(ctx, d.References())
	if err != nil {
		return d, err
	}
	v.results.found(d.Cluster, versions)
	return d.Pinned(versions), nil
}

// removeOld removes the release that a deployment had before it moved, without
// the objects that the new one holds.
func (v *visit) removeOld(ctx context.Context, key Key, prior Record, mark release.Mark, written release.Written) error {
	if v.written[release.Key(prior.Namespace, prior.Release)] {
		return nil
	}
	old, err := v.seen.cluster.Release(ctx, prior.Namespace, prior.Release)
	if err != nil {
		return err
	}
	if release.DecideRemoval(mark, old) != release.Uninstall {
		return nil
	}
	spare := map[string]bool{}
	for object := range written.Rendering.Hashes() {
		spare[object] = true
	}
	removed, err := v.seen.cluster.Uninstall(ctx, *old, release.Removal{Spare: spare, Timeout: v.request.Settings.Timeout})
	v.results.left(key, removed)
	return err
}

// removeAll removes in reverse: a bundle goes after those that depend on it.
func (v *visit) removeAll(ctx context.Context) {
	if v.seen.err != nil {
		for _, key := range v.remove {
			v.results.untouched(key, "looking at the cluster before removing", v.seen.err)
		}
		return
	}
	bundles, gone, kept := make([]string, len(v.remove)), map[string]chan struct{}{}, &sync.Map{}
	for i, key := range v.remove {
		bundles[i], gone[key.Bundle] = key.Bundle, make(chan struct{})
	}
	before := release.BeforeRemoval(bundles, v.request.Needs)
	var removing sync.WaitGroup
	for _, key := range v.remove {
		removing.Go(func() {
			defer close(gone[key.Bundle])
			for _, dependant := range before[key.Bundle] {
				<-gone[dependant]
			}
			for _, dependant := range before[key.Bundle] {
				if _, failed := kept.Load(dependant); failed {
					kept.Store(key.Bundle, true)
					v.results.held(key, "removing", &release.HeldError{Reason: fmt.Sprintf("bundle %s, which depends on it, could not be removed", dependant)})
					return
				}
			}
			if !v.uninstall(ctx, key) {
				kept.Store(key.Bundle, true)
			}
		})
	}
	removing.Wait()
	v.sweep(ctx)
}

// uninstall removes one deployment and says whether it is gone, or not ours any more.
func (v *visit) uninstall(ctx context.Context, key Key) bool {
	const doing = "removing"
	prior := v.request.Prior[key]
	if v.claimed()[release.Key(prior.Namespace, prior.Release)] {
		return true // Another deployment answers for it now, whether it came out well or not.
	}
	if v.isHandedOver(ctx, key.Cluster, prior) {
		v.results.handedOver(key) // Should nobody take it, a refresh finds it again.
		return true
	}
	slot, err := v.engine.slot(ctx)
	if err != nil {
		v.results.untouched(key, doing, err)
		return false
	}
	defer slot.Pause()
	mark := v.request.mark(key.Bundle, prior.Digest)
	// Removing it fails if another instance has taken the release over since the cluster
	// was looked at. What was not ours then may be by now.
	observed := v.seen.snapshot.Find(prior.Namespace, prior.Release)
	if release.DecideRemoval(mark, observed) != release.Uninstall {
		if observed, err = v.seen.cluster.Release(ctx, prior.Namespace, prior.Release); err != nil {
			v.results.untouched(key, doing, err)
			return false
		}
	}
	if release.DecideRemoval(mark, observed) != release.Uninstall {
		return true // Nothing of ours is there.
	}
	removed, err := v.seen.cluster.Uninstall(ctx, *observed, release.Removal{Timeout: v.request.Settings.Timeout})
	v.results.left(key, removed)
	if err != nil {
		prior.State, prior.Counts = status.ErrApplied, prior.Counts.Unseen()
		v.results.failed(key, doing, err, &prior)
		return false
	}
	return true
}

// truth finds out what a failed write left behind; nil when nothing is there.
// When that cannot be found out either, the deployment counts as there, so that
// a later removal looks again.
func (v *visit) truth(ctx context.Context, d target.Deployment, prior Record, moved bool) *Record {
	if moved {
		// The release that works is the one it was to move from. Were it
		// forgotten here, nobody would ever remove it.
		prior.State = status.ErrApplied
		return &prior
	}
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	left := Record{
		Release: d.Release, Namespace: d.Namespace, Chart: prior.Chart, Version: prior.Version,
		State: status.ErrApplied, Objects: prior.Objects,
		Counts: prior.Counts.Unseen(), Rules: release.RulesOf(d.Options), Stored: prior.Stored,
	}
	observed, err := v.seen.cluster.Release(ctx, d.Namespace, d.Release)
	if err != nil {
		return &left
	}
	if !isThere(observed) {
		return nil
	}
	if observed.Current() {
		left.Digest = observed.Mark.Digest
		v.results.wrote(keyOf(d), sighted{observed: *observed})
	}
	return &left
}

// isThere tells a release from the history that an uninstall can leave.
func isThere(observed *release.Observed) bool {
	return observed != nil && observed.Status != release.StatusUninstalled
}
