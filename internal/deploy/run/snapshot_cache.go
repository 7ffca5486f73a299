package run

import (
	"context"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// SnapshotCache keeps the snapshots that the plans of one process have read. Callers that need a
// cluster while a request runs share its result, each within its own deadline. Errors are not
// kept: the next caller after a failure sends a new request. The zero value is empty.
type SnapshotCache struct {
	mu      sync.Mutex
	known   map[string]release.Snapshot
	running map[string]*sharedSnapshot
}

// sharedSnapshot is one running request.
type sharedSnapshot struct {
	waiting int
	cancel  context.CancelFunc

	done     chan struct{}
	snapshot release.Snapshot
	err      error
}

// Get returns the cached snapshot of a cluster, else the result of ask. The context of ask ends
// when no caller waits any more.
func (c *SnapshotCache) Get(ctx context.Context, cluster string, ask func(ctx context.Context) (release.Snapshot, error)) (release.Snapshot, error) {
	known, shared := c.join(ctx, cluster, ask)
	if shared == nil {
		return known, nil
	}
	select {
	case <-shared.done:
		return shared.snapshot, shared.err
	case <-ctx.Done():
		c.leave(cluster, shared)
		return release.Snapshot{}, context.Cause(ctx)
	}
}

// Has reports whether the snapshot of a cluster is cached.
func (c *SnapshotCache) Has(cluster string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.known[cluster]
	return known
}

// UIDs returns the identities of those clusters whose snapshots are cached.
func (c *SnapshotCache) UIDs(clusters []string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	uids := map[string]string{}
	for _, name := range clusters {
		if uid := c.known[name].UID; uid != "" {
			uids[name] = uid
		}
	}
	return uids
}

// join starts a request, unless one is running or the snapshot is cached.
func (c *SnapshotCache) join(ctx context.Context, cluster string, ask func(ctx context.Context) (release.Snapshot, error)) (release.Snapshot, *sharedSnapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.known[cluster]; ok {
		return known, nil
	}
	shared := c.running[cluster]
	if shared == nil {
		if c.known == nil {
			c.known, c.running = map[string]release.Snapshot{}, map[string]*sharedSnapshot{}
		}
		shared = &sharedSnapshot{done: make(chan struct{})}
		ctx, shared.cancel = context.WithCancel(context.WithoutCancel(ctx))
		c.running[cluster] = shared
		go c.ask(ctx, cluster, shared, ask)
	}
	shared.waiting++
	return release.Snapshot{}, shared
}

func (c *SnapshotCache) ask(ctx context.Context, cluster string, shared *sharedSnapshot, ask func(ctx context.Context) (release.Snapshot, error)) {
	defer shared.cancel()
	var snapshot release.Snapshot
	err := panics.Recovering("reading the cluster", func() (err error) {
		snapshot, err = ask(ctx)
		return err
	})()
	c.mu.Lock()
	defer c.mu.Unlock()
	shared.snapshot, shared.err = snapshot, err
	if c.running[cluster] == shared {
		delete(c.running, cluster)
	}
	if err == nil {
		c.known[cluster] = snapshot
	}
	close(shared.done)
}

// leave stops waiting. A request that no caller waits for is canceled, and later callers do not
// share it.
func (c *SnapshotCache) leave(cluster string, shared *sharedSnapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if shared.waiting--; shared.waiting > 0 {
		return
	}
	shared.cancel()
	if c.running[cluster] == shared {
		delete(c.running, cluster)
	}
}
