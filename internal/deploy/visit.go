package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	if v.seen.err == nil {
		v.seen.err = v.request.checkIdentity(v.name, v.seen.snapshot.UID)
	}
	if v.seen.err != nil {
		v.seen.snapshot = release.Snapshot{} // What another cluster says counts for nothing.
	}
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
	// It waits without a slot.
	observed, err := v.awaitRemoval(ctx, d, v.seen.snapshot.Find(d.Namespace, d.Release))
	if err != nil {
		v.results.untouched(key, "waiting for another target to remove the release", err)
		return nil
	}
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
	known := v.known(d.Namespace, d.Release)
	mark := v.markOf(d.Bundle.Name, d.Digest, known)
	mark.Terms = release.TermsOf(d)
	action, err := v.decide(ctx, mark, observed)
	if err != nil {
		v.results.untouched(key, "deploying", err)
		return nil
	}
	// A record that is not the one of the state is written again, too.
	action = release.Correct(action, prior.Corrects(d) || had && prior.Digest == "")
	write := v.request.Settings.write(d, mark)
	write.Known = known
	for _, former := range prior.all() {
		if at := release.Key(former.Namespace, former.Release); at != release.Key(d.Namespace, d.Release) {
			write.Former = append(write.Former, at)
		}
	}
	write.Turn = slot
	written, err := v.seen.cluster.Write(ctx, action, d, observed, write)
	if planned, promised := v.request.Planned[key]; err == nil && promised && !writes(action) && !maps.Equal(written.Rendering.Hashes(), planned) {
		// It was deployed when its cluster could do other things.
		action = release.Upgrade
		if err = slot.Resume(ctx); err == nil {
			written, err = v.seen.cluster.Write(ctx, action, d, &written.Observed, write)
		}
	}
	if !writes(action) {
		written.Content = contentOf(known, d.Digest) // What was read and not written proves nothing.
	}
	if err != nil {
		v.results.failed(key, action.Doing(), err, v.truth(ctx, d, prior, moved, written))
		return nil
	}
	record := recordOf(d, written, v.seen.snapshot.UID)
	if !writes(action) {
		record.Stored = prior.Stored
	}
	v.results.wrote(key, sighted{observed: written.Observed, stores: writes(action)})
	if err := v.removeFormer(ctx, key, prior.all(), &record, written, slot); err != nil {
		record.State = status.ErrApplied
		v.results.failed(key, "removing the release it moved from", err, &record)
		return nil
	}
	v.results.succeeded(key, record)
	return &record
}

// known is what state says of a release on this cluster, nil if it does not know it. The
// release can be another deployment's in the state: a bundle or a cluster can get another
// name while the release keeps its own.
func (v *visit) known(namespace, name string) *release.Known {
	for key, record := range v.request.Prior {
		if !v.isHere(key.Cluster) {
			continue
		}
		for _, known := range record.all() {
			if known.Release == name && known.Namespace == namespace {
				return &known
			}
		}
	}
	for key, known := range v.request.Lost {
		if v.isHere(key.Cluster) && known.Release == name && known.Namespace == namespace {
			return &known
		}
	}
	return nil
}

// isHere reports whether a name of a cluster stands for this one.
func (v *visit) isHere(cluster string) bool {
	uid := v.seen.snapshot.UID
	return cluster == v.name || uid != "" && v.request.UIDs[cluster] == uid
}

// markOf is the mark of a deployment of this target, with the id that state knows its
// release by.
func (v *visit) markOf(bundle, digest string, known *release.Known) release.Mark {
	if known == nil {
		return v.request.mark(bundle, digest)
	}
	return v.request.Mark(bundle, digest, *known)
}

// contentOf is the content that state knows of a release with a digest, "" if it knows none.
func contentOf(known *release.Known, digest string) string {
	if known == nil || known.Digest != digest {
		return ""
	}
	return known.Content
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

// removeFormer removes the releases that a deployment had before, without the objects that
// the new one holds. Those that could not be removed stay in its record.
func (v *visit) removeFormer(ctx context.Context, key Key, former []release.Known, record *Record, written release.Written, turn release.Turn) error {
	var errs []error
	for _, known := range former {
		at := release.Key(known.Namespace, known.Release)
		if at == release.Key(record.Namespace, record.Release) || v.written[at] {
			continue
		}
		err := turn.Resume(ctx)
		if err == nil {
			_, err = v.removeRelease(ctx, key, known, written.Rendering.Hashes())
		}
		if err != nil {
			record.Left, errs = append(record.Left, known), append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// removeRelease removes a release that state knows, without the objects to spare, and
// reports whether it removed anything. One that somebody else has taken over is left.
func (v *visit) removeRelease(ctx context.Context, key Key, known release.Known, spare map[string]string) (bool, error) {
	mark := v.markOf(key.Bundle, known.Digest, &known)
	take := v.request.Settings.TakeOwnership
	// Removing it fails if another instance has taken the release over since the cluster
	// was looked at. What was not ours then may be by now.
	observed := v.seen.snapshot.Find(known.Namespace, known.Release)
	action, err := release.DecideRemoval(mark, observed, take)
	if action != release.Uninstall {
		if observed, err = v.seen.cluster.Release(ctx, known.Namespace, known.Release); err != nil {
			return false, err
		}
		action, err = release.DecideRemoval(mark, observed, take)
	}
	if err != nil {
		return false, v.leaveToFleet(ctx, key, observed, err)
	}
	if action != release.Uninstall {
		v.results.leftTo(key, mark, observed)
		return false, nil // Nothing of ours is there.
	}
	known = v.request.completed(known, *observed, v.seen.snapshot.UID)
	removal := release.Removal{Timeout: v.request.Settings.Timeout, Known: known, Spare: map[string]bool{}}
	for object := range spare {
		removal.Spare[object] = true
	}
	removed, err := v.seen.cluster.Uninstall(ctx, *observed, removal)
	v.results.left(key, removed)
	return true, err
}

// leaveToFleet is nil, with a notice, if Fleet's agent goes on with a release. What
// somebody has changed by hand is an error: nobody would know of it any more.
func (v *visit) leaveToFleet(ctx context.Context, key Key, observed *release.Observed, err error) error {
	err = v.withMaker(ctx, observed, err)
	if foreign, ok := errors.AsType[*release.ForeignError](err); ok && foreign.Maker.Fleet {
		v.results.notice(Notice{Cluster: key.Cluster, Bundle: key.Bundle, LeftTo: foreign.Maker.Name})
		return nil
	}
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
}

// uninstall removes the releases of one deployment and says whether they are gone, or not
// ours any more.
func (v *visit) uninstall(ctx context.Context, key Key) bool {
	const doing = "removing"
	prior := v.request.Prior[key]
	releases := slices.DeleteFunc(prior.all(), func(known release.Known) bool {
		return v.claimed()[release.Key(known.Namespace, known.Release)] // Another deployment has it now, whether it came out well or not.
	})
	if len(releases) == 0 {
		return true
	}
	slot, err := v.engine.slot(ctx)
	if err != nil {
		v.results.untouched(key, doing, err)
		return false
	}
	defer slot.Pause()
	touched := false
	for _, known := range releases {
		removed, failure := v.removeRelease(ctx, key, known, nil)
		touched, err = touched || removed, errors.Join(err, failure)
	}
	switch {
	case err == nil:
		return true
	case touched:
		prior.State, prior.Counts = status.ErrApplied, prior.Counts.Unseen()
		v.results.failed(key, doing, err, &prior)
	default:
		v.results.untouched(key, doing, err)
	}
	return false
}

// truth finds out what a failed write left behind; nil when nothing is there.
// When that cannot be found out either, the deployment counts as there, so that
// a later removal looks again.
func (v *visit) truth(ctx context.Context, d target.Deployment, prior Record, moved bool, written release.Written) *Record {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	known := v.knownAfterFailure(d, written)
	observed, err := v.seen.cluster.Release(ctx, d.Namespace, d.Release)
	if moved {
		// The release that works is the one it was to move from. The other one may be
		// there as well.
		prior.State = status.ErrApplied
		if err != nil || isThere(observed) {
			prior.Left = append(without(prior.Left, known), known)
		}
		return &prior
	}
	left := Record{
		Release: d.Release, Namespace: d.Namespace, Chart: prior.Chart, Version: prior.Version,
		State: status.ErrApplied, Objects: prior.Objects,
		Counts: prior.Counts.Unseen(), Rules: release.RulesOf(d.Options), Stored: prior.Stored,
		Known: known, Left: prior.Left,
	}
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

// knownAfterFailure is what state is to know of a release whose write failed. Content is
// that of the record which the write made, else what state knew before.
func (v *visit) knownAfterFailure(d target.Deployment, written release.Written) release.Known {
	known := knownOf(d, written, v.seen.snapshot.UID)
	known.Instance = v.request.mark("", "").Instance
	if before := v.known(d.Namespace, d.Release); before != nil && written.Content == "" {
		return *before
	}
	return known
}

// without leaves a release out of those of a deployment.
func without(left []release.Known, gone release.Known) []release.Known {
	return slices.DeleteFunc(slices.Clone(left), func(known release.Known) bool {
		return known.Namespace == gone.Namespace && known.Release == gone.Release
	})
}

// isThere tells a release from the history that an uninstall can leave.
func isThere(observed *release.Observed) bool {
	return observed != nil && observed.Status != release.StatusUninstalled
}
