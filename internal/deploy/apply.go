package deploy

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Key names one deployment.
type Key struct {
	Cluster string
	Bundle  string
}

func (k Key) String() string { return target.Key(k.Cluster, k.Bundle) }

// Request is what one apply has to do. Deployments that are neither in Write
// nor in Remove are left alone.
type Request struct {
	Owner    string
	Target   string
	Instance string
	// Write are the deployments to install, upgrade or adopt.
	Write []target.Deployment
	// Remove are the deployments to uninstall.
	Remove []Key
	// Prior is what was known before of any of them.
	Prior    map[Key]Record
	Settings Settings
}

// Settings hold for all deployments of a request.
type Settings struct {
	// Wait until objects are ready, for Timeout unless the bundle says how long.
	Wait          bool
	Timeout       time.Duration
	MaxHistory    int
	TakeOwnership bool
	// Description stands in the history of each release.
	Description func(target.Deployment) string
}

// Outcome is what is true after an apply, whether it failed or not.
type Outcome struct {
	// Records holds every deployment of the request that is, or may be, on its
	// cluster. Those that were seen to be gone are missing.
	Records  map[Key]Record
	Failures []Failure
}

// Apply carries a request out, cluster by cluster in parallel. A failure
// concerns one deployment; the others go on. When ctx ends nothing new is
// started, and what runs is brought to an end.
func (e *Engine) Apply(ctx context.Context, request Request) Outcome {
	work := request.byCluster()
	outcomes := make(chan Outcome, len(work))
	var running sync.WaitGroup
	for cluster, part := range work {
		running.Go(func() { outcomes <- e.applyCluster(ctx, cluster, part) })
	}
	running.Wait()
	close(outcomes)

	total := Outcome{Records: map[Key]Record{}}
	for outcome := range outcomes {
		maps.Copy(total.Records, outcome.Records)
		total.Failures = append(total.Failures, outcome.Failures...)
	}
	slices.SortFunc(total.Failures, compareFailures)
	return total
}

func (r Request) byCluster() map[string]Request {
	parts := map[string]Request{}
	part := func(cluster string) Request {
		if found, ok := parts[cluster]; ok {
			return found
		}
		fresh := r
		fresh.Write, fresh.Remove = nil, nil
		return fresh
	}
	for _, d := range r.Write {
		changed := part(d.Cluster)
		changed.Write = append(changed.Write, d)
		parts[d.Cluster] = changed
	}
	for _, key := range r.Remove {
		changed := part(key.Cluster)
		changed.Remove = append(changed.Remove, key)
		parts[key.Cluster] = changed
	}
	return parts
}

// applyCluster writes first and removes afterwards.
func (e *Engine) applyCluster(ctx context.Context, name string, request Request) Outcome {
	results := &results{prior: request.Prior, records: map[Key]Record{}}
	cluster, snapshot, err := e.look(ctx, name)
	if err != nil {
		for _, d := range request.Write {
			results.untouched(keyOf(d), "looking at the cluster before deploying", err)
		}
		for _, key := range request.Remove {
			results.untouched(key, "looking at the cluster before removing", err)
		}
		return results.outcome()
	}
	var writing sync.WaitGroup
	for _, d := range request.Write {
		writing.Go(func() { e.write(ctx, cluster, snapshot, d, request, results) })
	}
	writing.Wait()
	var removing sync.WaitGroup
	for _, key := range request.Remove {
		removing.Go(func() { e.remove(ctx, cluster, key, request, results) })
	}
	removing.Wait()
	return results.outcome()
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

func (e *Engine) write(ctx context.Context, cluster Cluster, snapshot release.Snapshot, d target.Deployment, request Request, results *results) {
	key := keyOf(d)
	done, err := e.slot(ctx)
	if err != nil {
		results.untouched(key, "deploying", err)
		return
	}
	defer done()

	prior, had := request.Prior[key]
	moved := had && (prior.Release != d.Release || prior.Namespace != d.Namespace)
	observed := snapshot.Find(d.Namespace, d.Release)
	mark := release.NewMark(request.Owner, request.Target, request.Instance, d.Bundle.Name, d.Digest)
	action, err := release.Decide(mark, observed, request.Settings.TakeOwnership)
	if err != nil {
		results.untouched(key, "deploying", err)
		return
	}
	write := request.Settings.write(d, mark)
	// What moves takes its own objects along.
	write.TakeOwnership = write.TakeOwnership || moved
	written, err := cluster.Write(ctx, action, d, observed, write)
	if err != nil {
		results.failed(key, action.Doing(), err, e.truth(ctx, cluster, d, prior))
		return
	}
	record := recordOf(d, written)
	if moved {
		if err := e.removeOld(ctx, cluster, prior, mark, written, request.Settings.Timeout); err != nil {
			// Under its old name the deployment counts as still to be moved, and
			// the next apply takes up where this one stopped.
			record.Release, record.Namespace, record.State = prior.Release, prior.Namespace, status.ErrApplied
			results.failed(key, "removing the release it moved from", err, &record)
			return
		}
	}
	results.succeeded(key, record)
}

// removeOld removes the release that a deployment had before it moved, without
// the objects that the new one holds.
func (e *Engine) removeOld(ctx context.Context, cluster Cluster, prior Record, mark release.Mark, written release.Written, timeout time.Duration) error {
	old, err := cluster.Release(ctx, prior.Namespace, prior.Release)
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
	return cluster.Uninstall(ctx, *old, spare, timeout)
}

func (e *Engine) remove(ctx context.Context, cluster Cluster, key Key, request Request, results *results) {
	const doing = "removing"
	done, err := e.slot(ctx)
	if err != nil {
		results.untouched(key, doing, err)
		return
	}
	defer done()
	prior := request.Prior[key]
	// The record is read again right before it is removed: another instance
	// may have taken the release over since the cluster was looked at.
	observed, err := cluster.Release(ctx, prior.Namespace, prior.Release)
	if err != nil {
		results.untouched(key, doing, err)
		return
	}
	mark := release.NewMark(request.Owner, request.Target, request.Instance, key.Bundle, prior.Digest)
	if release.DecideRemoval(mark, observed) != release.Uninstall {
		return // Nothing of ours is there.
	}
	if err := cluster.Uninstall(ctx, *observed, nil, request.Settings.Timeout); err != nil {
		prior.State, prior.Message = status.ErrApplied, status.Message(err.Error())
		results.failed(key, doing, err, &prior)
	}
}

// truth finds out what a failed operation left behind; nil when nothing is
// there. When that cannot be found out either, the deployment counts as there,
// so that a later removal looks again.
func (e *Engine) truth(ctx context.Context, cluster Cluster, d target.Deployment, prior Record) *Record {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	left := Record{
		Release: d.Release, Namespace: d.Namespace, Chart: prior.Chart, Version: prior.Version,
		State: status.ErrApplied, Objects: prior.Objects,
	}
	observed, err := cluster.Release(ctx, d.Namespace, d.Release)
	if err != nil {
		return &left
	}
	if observed == nil {
		return nil
	}
	if observed.Current() {
		left.Digest = observed.Mark.Digest
	}
	return &left
}

func (s Settings) write(d target.Deployment, mark release.Mark) release.Write {
	timeout := s.Timeout
	if d.Options.Helm != nil && d.Options.Helm.TimeoutSeconds > 0 {
		timeout = time.Duration(d.Options.Helm.TimeoutSeconds) * time.Second
	}
	return release.Write{
		Mark:          mark,
		Wait:          s.Wait,
		Timeout:       timeout,
		MaxHistory:    s.MaxHistory,
		TakeOwnership: s.TakeOwnership,
		Description:   s.Description(d),
	}
}

func recordOf(d target.Deployment, written release.Written) Record {
	record := Record{
		Release:   written.Observed.Release,
		Namespace: written.Observed.Namespace,
		Chart:     written.Rendering.Chart,
		Version:   written.Rendering.Version,
		Digest:    d.Digest,
		State:     status.Ready,
		Objects:   written.Rendering.Hashes(),
	}
	if written.NotReady != nil {
		record.State, record.Message = status.NotReady, status.Message(written.NotReady.Error())
	}
	return record
}

func keyOf(d target.Deployment) Key { return Key{Cluster: d.Cluster, Bundle: d.Bundle.Name} }

func compareFailures(a, b Failure) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Bundle, b.Bundle))
}

// results collects what the operations on one cluster came to.
type results struct {
	prior map[Key]Record

	mu       sync.Mutex
	records  map[Key]Record
	failures []Failure
}

func (r *results) outcome() Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Outcome{Records: r.records, Failures: r.failures}
}

func (r *results) succeeded(key Key, record Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records[key] = record
}

// untouched notes a failure that came before anything was written: what was
// true before still is.
func (r *results) untouched(key Key, doing string, err error) {
	prior, ok := r.prior[key]
	if !ok {
		r.failed(key, doing, err, nil)
		return
	}
	r.failed(key, doing, err, &prior)
}

// failed notes a failure and what is there now, nil for nothing.
func (r *results) failed(key Key, doing string, err error, left *Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, Failure{Cluster: key.Cluster, Bundle: key.Bundle, Doing: doing, Err: err})
	if left == nil {
		return
	}
	record := *left
	if record.State == status.ErrApplied {
		record.Message = status.Message(err.Error())
	}
	r.records[key] = record
}
