package engine

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// tracker follows the BundleDeployments of one target: one list and one watch for all who wait.
type tracker struct {
	engine   *Engine
	client   *client
	selector string
	clusters map[string]managedCluster

	mu          sync.Mutex
	deployments map[deploymentID]*bundleDeployment
	// changed is closed and replaced with each change.
	changed chan struct{}
	// err is why the last list or watch failed, nil after one that did not.
	err error
}

func (e *Engine) newTracker(c *client, selector string, seen view) *tracker {
	return &tracker{
		engine: e, client: c, selector: selector, clusters: seen.clusters, deployments: maps.Clone(seen.deployments), changed: make(chan struct{}),
	}
}

// rewatch is the pause before a watch that ended is begun again.
const rewatch = time.Second

// follow keeps the deployments up to date until ctx ends.
func (t *tracker) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := status.Recovering("watching BundleDeployments", func() error { return t.watch(ctx) })()
		t.mu.Lock()
		t.err = err
		t.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(rewatch):
		}
	}
}

// watch lists the deployments and watches them until the watch ends.
func (t *tracker) watch(ctx context.Context) error {
	listed := map[deploymentID]*bundleDeployment{}
	version, err := t.client.deployments(ctx, t.selector, func(bd *bundleDeployment) {
		if id, ok := t.engine.idOf(bd, t.clusters); ok {
			listed[id] = bd
		}
	})
	if err != nil {
		return t.engine.failed("listing the BundleDeployments of", err)
	}
	t.update(func() { t.deployments, t.err = listed, nil })
	err = t.client.watch(ctx, deploymentsPath, t.selector, version, t.see)
	if err != nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) && ctx.Err() == nil {
		return t.engine.failed("watching the BundleDeployments of", err)
	}
	return nil
}

func (t *tracker) see(event watchEvent) error {
	if event.Type == "BOOKMARK" {
		return nil
	}
	var bd bundleDeployment
	if err := json.Unmarshal(event.Object, &bd); err != nil {
		return err //nolint:wrapcheck // The caller names what was watched.
	}
	bd.trim()
	id, ok := t.engine.idOf(&bd, t.clusters)
	if !ok {
		return nil
	}
	t.update(func() {
		if event.Type == "DELETED" {
			delete(t.deployments, id)
			return
		}
		t.deployments[id] = &bd
	})
	return nil
}

func (t *tracker) update(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change()
	close(t.changed)
	t.changed = make(chan struct{})
}

// lag is how many deployments of a Bundle were computed from an earlier version of it. changed is
// closed when there is something new of any.
func (t *tracker) lag(bundle, digest string) (behind int, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, bd := range t.deployments {
		if id.bundle == bundle && bd.Metadata.Labels[labelDigest] != digest {
			behind++
		}
	}
	return behind, t.changed
}

// deployment is the newest that is known of one. changed is closed when there is something new of
// any.
func (t *tracker) deployment(id deploymentID) (bd *bundleDeployment, changed <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.deployments[id], t.changed, t.err
}
