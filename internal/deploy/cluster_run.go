package deploy

import (
	"context"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// clusterRun is the part of a request that concerns one cluster.
type clusterRun struct {
	engine  *Engine
	request *Request
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
	// moves are the objects that change from one bundle to another there, and taken the
	// bundles that have theirs.
	moves release.Moves
	taken taken
}

// clusterRuns returns the runs that a request needs, by cluster.
func (e *Engine) clusterRuns(request Request, results *results) map[string]*clusterRun {
	runs, sights := map[string]*clusterRun{}, &panorama{}
	moves := request.moveCandidates().moves()
	claims := sync.OnceValue(func() map[string]map[string]bool { return request.claims(sights.all()) })
	to := func(cluster string) *clusterRun {
		if runs[cluster] == nil {
			runs[cluster] = &clusterRun{
				engine: e, request: &request, name: cluster, looked: make(chan struct{}), sights: sights,
				written: map[string]bool{}, results: results, moves: moves[cluster],
				// No write waits for another cluster's answer. Only a removal has to know
				// whether that is the same cluster under another name.
				claimed: func() map[string]bool { return claims()[request.identity(cluster, sights.all())] },
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
	sights.expect(len(runs))
	return runs
}

// look looks at the cluster before anything is done there.
func (r *clusterRun) look(ctx context.Context) {
	var seen sight
	seen.cluster, seen.snapshot, seen.err = r.engine.lookAhead(ctx, r.name)
	if seen.err == nil {
		seen.err = r.request.checkIdentity(r.name, seen.snapshot.UID)
	}
	r.note(seen)
}

// unseen notes that looking at the cluster ended in a panic.
func (r *clusterRun) unseen(err error) { r.note(sight{err: err}) }

// note lets those go on who wait for the look at the cluster.
func (r *clusterRun) note(seen sight) {
	r.seen = seen
	if r.seen.err != nil {
		r.seen.snapshot = release.Snapshot{} // What another cluster says counts for nothing.
	}
	r.sights.add(r.name, r.seen)
	close(r.looked)
}

// sight is what was seen of a cluster.
type sight struct {
	cluster  Cluster
	snapshot release.Snapshot
	err      error
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

// known is what the request knows of the cluster, once it was looked at.
func (r *clusterRun) known() knownOfCluster {
	return knownOfCluster{request: r.request, cluster: r.name, uid: r.seen.snapshot.UID}
}
