package deploy

import (
	"context"
	"sync"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// visit is the part of a request that concerns one cluster.
type visit struct {
	engine   *Engine
	request  Request
	cluster  Cluster
	snapshot release.Snapshot
	// written are the releases that this request writes there, by release.Key, and
	// claimed all that the cluster is to have, under whatever name. It waits until
	// all clusters have been looked at.
	written map[string]bool
	claimed func() map[string]bool
	results *results
}

// applyCluster writes first and removes afterwards.
func (e *Engine) applyCluster(ctx context.Context, seen sight, request Request, claimed func() map[string]bool) Outcome {
	results := &results{prior: request.Prior, records: map[Key]Record{}}
	if seen.err != nil {
		for _, d := range request.Write {
			results.untouched(keyOf(d), "looking at the cluster before deploying", seen.err)
		}
		for _, key := range request.Remove {
			results.untouched(key, "looking at the cluster before removing", seen.err)
		}
		return results.outcome()
	}
	v := &visit{engine: e, request: request, cluster: seen.cluster, snapshot: seen.snapshot, written: map[string]bool{}, claimed: claimed, results: results}
	for _, d := range request.Write {
		v.written[release.Key(d.Namespace, d.Release)] = true
	}
	var writing sync.WaitGroup
	for _, d := range request.Write {
		writing.Go(func() { v.write(ctx, d) })
	}
	writing.Wait()
	var removing sync.WaitGroup
	for _, key := range request.Remove {
		removing.Go(func() { v.remove(ctx, key) })
	}
	removing.Wait()
	for _, d := range request.Write {
		v.sweep(ctx, d)
	}
	return results.outcome()
}

// sight is what was seen of a cluster.
type sight struct {
	cluster  Cluster
	snapshot release.Snapshot
	err      error
}

func (e *Engine) sight(ctx context.Context, name string) sight {
	var seen sight
	seen.cluster, seen.snapshot, seen.err = e.look(ctx, name)
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

func (e *Engine) look(ctx context.Context, name string) (Cluster, release.Snapshot, error) {
	cluster, err := e.clusters(name)
	if err != nil {
		return nil, release.Snapshot{}, err
	}
	done, err := e.slot(ctx)
	if err != nil {
		return nil, release.Snapshot{}, err
	}
	defer done()
	snapshot, err := cluster.Look(ctx)
	return cluster, snapshot, err
}

func (v *visit) write(ctx context.Context, d target.Deployment) {
	key := keyOf(d)
	done, err := v.engine.slot(ctx)
	if err != nil {
		v.results.untouched(key, "deploying", err)
		return
	}
	defer done()

	d, err = v.pinned(ctx, d)
	if err != nil {
		v.results.untouched(key, "reading the objects that values come from", err)
		return
	}
	prior, had := v.request.Prior[key]
	moved := had && (prior.Release != d.Release || prior.Namespace != d.Namespace)
	observed := v.snapshot.Find(d.Namespace, d.Release)
	mark := v.request.mark(d.Bundle.Name, d.Digest)
	action, err := v.decide(ctx, d, mark, observed)
	if err != nil {
		v.results.untouched(key, "deploying", err)
		return
	}
	write := v.request.Settings.write(d, mark)
	// What moves takes its own objects along.
	write.TakeOwnership = write.TakeOwnership || moved
	written, err := v.cluster.Write(ctx, action, d, observed, write)
	if err != nil {
		v.results.failed(key, action.Doing(), err, v.truth(ctx, d, prior, moved))
		return
	}
	record := recordOf(d, written)
	if moved && !v.isHandedOver(ctx, key.Cluster, prior) {
		if err := v.removeOld(ctx, prior, mark, written); err != nil {
			// Under its old name the deployment counts as still to be moved, and
			// the next apply takes up where this one stopped.
			record.Release, record.Namespace, record.State = prior.Release, prior.Namespace, status.ErrApplied
			v.results.failed(key, "removing the release it moved from", err, &record)
			return
		}
	}
	v.results.succeeded(key, record)
}

// pinned settles the digest of a deployment whose values come from objects that
// nobody has looked at yet.
func (v *visit) pinned(ctx context.Context, d target.Deployment) (target.Deployment, error) {
	if !d.Unpinned {
		return d, nil
	}
	versions, err := v.cluster.Versions(ctx, d.References())
	if err != nil {
		return d, err
	}
	v.results.found(d.Cluster, versions)
	return d.Pinned(versions), nil
}

// removeOld removes the release that a deployment had before it moved, without
// the objects that the new one holds.
func (v *visit) removeOld(ctx context.Context, prior Record, mark release.Mark, written release.Written) error {
	if v.written[release.Key(prior.Namespace, prior.Release)] {
		return nil
	}
	old, err := v.cluster.Release(ctx, prior.Namespace, prior.Release)
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
	return v.cluster.Uninstall(ctx, *old, spare, v.request.Settings.Timeout)
}

func (v *visit) remove(ctx context.Context, key Key) {
	const doing = "removing"
	prior := v.request.Prior[key]
	if v.claimed()[release.Key(prior.Namespace, prior.Release)] {
		return // Another deployment answers for it now, whether it came out well or not.
	}
	if v.isHandedOver(ctx, key.Cluster, prior) {
		v.results.handedOver(key) // Should nobody take it, a refresh finds it again.
		return
	}
	done, err := v.engine.slot(ctx)
	if err != nil {
		v.results.untouched(key, doing, err)
		return
	}
	defer done()
	// The record is read again right before it is removed: another instance
	// may have taken the release over since the cluster was looked at.
	observed, err := v.cluster.Release(ctx, prior.Namespace, prior.Release)
	if err != nil {
		v.results.untouched(key, doing, err)
		return
	}
	mark := v.request.mark(key.Bundle, prior.Digest)
	if release.DecideRemoval(mark, observed) != release.Uninstall {
		return // Nothing of ours is there.
	}
	if err := v.cluster.Uninstall(ctx, *observed, nil, v.request.Settings.Timeout); err != nil {
		prior.State = status.ErrApplied
		v.results.failed(key, doing, err, &prior)
	}
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
	}
	observed, err := v.cluster.Release(ctx, d.Namespace, d.Release)
	if err != nil {
		return &left
	}
	if !isThere(observed) {
		return nil
	}
	if observed.Current() {
		left.Digest = observed.Mark.Digest
	}
	return &left
}

// isThere tells a release from the history that an uninstall can leave.
func isThere(observed *release.Observed) bool {
	return observed != nil && observed.Status != release.StatusUninstalled
}
