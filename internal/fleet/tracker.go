package fleet

import (
	"context"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

// tracker follows the BundleDeployments of one target: one list and one watch for all goroutines
// that wait.
type tracker struct {
	engine   *Engine
	client   *client
	selector string
	clusters map[string]managedCluster

	mu          sync.Mutex
	deployments map[deploymentID]*bundleDeployment
	// changed has a channel for each deployment that a goroutine waits for. A change of the
	// deployment closes and removes the channel.
	changed map[deploymentID]chan struct{}
	// err is the error of the last list or watch, nil if it succeeded.
	err error
}

func (e *Engine) newTracker(c *client, selector string, seen view) *tracker {
	return &tracker{
		engine: e, client: c, selector: selector, clusters: seen.clusters,
		deployments: maps.Clone(seen.deployments), changed: map[deploymentID]chan struct{}{},
	}
}

// rewatch is the pause before a watch that ended is begun again.
const rewatch = time.Second

// follow keeps the deployments up to date until ctx ends.
func (t *tracker) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := panics.Recovering("watching BundleDeployments", func() error { return t.watch(ctx) })()
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
	t.replace(listed)
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
	bd, err := decodeDeployment(event.Object)
	if err != nil {
		return err
	}
	id, ok := t.engine.idOf(&bd, t.clusters)
	if !ok {
		return nil
	}
	if event.Type == "DELETED" {
		t.set(id, nil)
	} else {
		t.set(id, &bd)
	}
	return nil
}

// replace wakes all waiting goroutines: each checks whether its deployment has changed.
func (t *tracker) replace(listed map[deploymentID]*bundleDeployment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.deployments {
		if _, exists := listed[id]; !exists {
			t.engine.deleted.Add(1)
		}
	}
	t.deployments, t.err = listed, nil
	for id := range t.changed {
		t.wake(id)
	}
}

// set stores a deployment, and wakes the goroutines that wait for it.
func (t *tracker) set(id deploymentID, bd *bundleDeployment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if bd == nil {
		t.engine.deleted.Add(1)
		delete(t.deployments, id)
	} else {
		t.deployments[id] = bd
	}
	t.wake(id)
}

func (t *tracker) wake(id deploymentID) {
	if changed, waits := t.changed[id]; waits {
		close(changed)
		delete(t.changed, id)
	}
}

// lag returns how many deployments of a Bundle were computed from an earlier version of it. changed
// is closed when one of them changes.
func (t *tracker) lag(bundle, digest string) (behind int, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, bd := range t.deployments {
		if id.bundle != bundle || bd.Metadata.Labels[labelDigest] == digest {
			continue
		}
		behind++
		if changed == nil {
			changed = t.channel(id)
		}
	}
	return behind, changed
}

// deployment returns the newest BundleDeployment that was read. changed is closed when it changes.
func (t *tracker) deployment(id deploymentID) (bd *bundleDeployment, changed <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.deployments[id], t.channel(id), t.err
}

func (t *tracker) channel(id deploymentID) <-chan struct{} {
	if t.changed[id] == nil {
		t.changed[id] = make(chan struct{})
	}
	return t.changed[id]
}
