package run

import (
	"context"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// clusterRun is the part of a request that concerns one cluster.
type clusterRun struct {
	runner  *Runner
	request *Request
	index   *requestIndex
	name    string
	// remove are the deployments to uninstall there, after all writes ended.
	remove []deploy.Key
	writes sync.WaitGroup
	// snapshotTaken is closed once the cluster was read; snapshot is the result.
	snapshotTaken chan struct{}
	snapshot      clusterSnapshot
	snapshots     *clusterSnapshots
	// written are the releases that this request writes there, by release.Key. claimed returns all
	// releases that the cluster is to have, under any of its names. claimed waits until all
	// clusters have been read.
	written  map[string]bool
	claimed  func() map[string]bool
	results  *results
	progress *applyProgress
	// moves are the objects that move from one bundle to another on this cluster. taken are the
	// bundles that have taken their objects over.
	moves release.Moves
	taken takenObjects
}

// clusterRuns returns the runs that a request needs, by cluster.
func (r *Runner) clusterRuns(request Request, results *results, progress *applyProgress) map[string]*clusterRun {
	runs := map[string]*clusterRun{}
	snapshots := &clusterSnapshots{}
	index := request.index()
	moving := deploy.MoveCandidates{
		Write: request.Write, Remove: request.Remove, Keep: request.Keep, Prior: request.Prior, Wants: request.Wants,
	}
	moves := moving.Moves()
	claims := sync.OnceValue(func() map[string]map[string]bool { return request.claims(snapshots.all()) })
	to := func(cluster string) *clusterRun {
		if runs[cluster] == nil {
			runs[cluster] = &clusterRun{
				runner: r, request: &request, index: index, name: cluster, snapshotTaken: make(chan struct{}), snapshots: snapshots,
				written: map[string]bool{}, results: results, progress: progress, moves: moves[cluster],
				// No write waits for the response of another cluster. Only a removal has to find
				// out whether the other cluster is this one under another name.
				claimed: func() map[string]bool { return claims()[request.identity(cluster, snapshots.all())] },
			}
		}
		return runs[cluster]
	}
	for _, d := range request.Write {
		run := to(d.Cluster)
		run.written[release.Key(d.Namespace, d.Release)] = true
		run.writes.Add(1)
	}
	for _, key := range request.Remove {
		run := to(key.Cluster)
		run.remove = append(run.remove, key)
	}
	snapshots.expect(len(runs))
	return runs
}

// takeSnapshot reads the cluster before anything is done there.
func (r *clusterRun) takeSnapshot(ctx context.Context) {
	var seen clusterSnapshot
	seen.snapshot, seen.err = query(ctx, r.runner, r.name, func(c Cluster) (release.Snapshot, error) {
		seen.cluster = c
		return PrefetchSnapshot(ctx, c)
	})
	if seen.err == nil {
		seen.err = r.request.checkIdentity(r.name, seen.snapshot.UID)
	}
	r.endSnapshot(seen)
}

// snapshotPanicked notes that reading the cluster ended in a panic.
func (r *clusterRun) snapshotPanicked(err error) { r.endSnapshot(clusterSnapshot{err: err}) }

// endSnapshot stores the result of reading the cluster and releases the goroutines that wait for
// it.
func (r *clusterRun) endSnapshot(seen clusterSnapshot) {
	r.snapshot = seen
	if r.snapshot.err != nil {
		r.snapshot.snapshot = release.Snapshot{} // The snapshot of another cluster must not be used.
	}
	r.snapshots.add(r.name, r.snapshot)
	close(r.snapshotTaken)
}

// clusterSnapshot is the result of reading a cluster.
type clusterSnapshot struct {
	cluster  Cluster
	snapshot release.Snapshot
	err      error
}

// find looks up a release. In a namespace that the snapshot leaves out, it reads only the records of
// this release. It returns nil if there is none.
func (s clusterSnapshot) find(ctx context.Context, runner *Runner, namespace, name string) (*release.Observed, error) {
	if !s.snapshot.LeavesOut(namespace) {
		return s.snapshot.Find(namespace, name), nil
	}
	slot, err := runner.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer slot.Pause()
	return s.cluster.Release(ctx, namespace, name)
}

// clusterSnapshots collects the snapshots of all clusters of a request.
type clusterSnapshots struct {
	pending sync.WaitGroup

	mu    sync.Mutex
	found map[string]clusterSnapshot
}

func (s *clusterSnapshots) expect(clusters int) {
	s.pending.Add(clusters)
	s.found = make(map[string]clusterSnapshot, clusters)
}

func (s *clusterSnapshots) add(cluster string, seen clusterSnapshot) {
	s.mu.Lock()
	s.found[cluster] = seen
	s.mu.Unlock()
	s.pending.Done()
}

// all waits until every cluster was read, and returns the snapshots.
func (s *clusterSnapshots) all() map[string]clusterSnapshot {
	s.pending.Wait()
	return s.found
}

// known returns what the request has recorded of the cluster. The cluster must have been read
// before.
func (r *clusterRun) known() knownOfCluster {
	return knownOfCluster{request: r.request, index: r.index, cluster: r.name, uid: r.snapshot.snapshot.UID}
}
