package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// keptSuffix is added to the digest of a deployment whose objects are to stay, so that it counts as
// changed until it is handed back.
const keptSuffix = "-kept"

// version is the digest of what an entry deploys.
func (e entry) version() string { return strings.TrimSuffix(e.digest, keptSuffix) }

// kept is the entry with the option to keep its objects when it is removed.
func (e entry) kept() entry {
	options := maps.Clone(e.options)
	options["keepResources"] = true
	return entry{options: options, values: e.values, digest: e.version() + keptSuffix}
}

// errNotKept keeps HandBack waiting.
var errNotKept = errors.New("the agent has not applied yet that the objects stay")

// OfflineHandBackError reports a deployment that only an agent can hand back which is offline.
type OfflineHandBackError struct {
	Cluster string
	// LastSeen is zero for an agent that was never seen.
	LastSeen time.Time
}

func (e *OfflineHandBackError) Error() string {
	seen := "was never seen"
	if !e.LastSeen.IsZero() {
		seen = "was last seen at " + e.LastSeen.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("the agent of cluster %s %s, and only the agent can let go of the release", e.Cluster, seen)
}

// HandBack makes Fleet let go of deployments of a target. Their releases and objects stay, and
// nothing watches them any more. It returns why those that are still Fleet's could not be handed
// back. A deployment that Fleet does not have is handed back.
func (e *Engine) HandBack(ctx context.Context, request deploy.Request, keys []deploy.Key) map[deploy.Key]error {
	r := &run{
		engine: e, request: request, slots: semaphore.NewWeighted(int64(e.settings.Parallelism)),
		records: map[deploy.Key]deploy.Record{}, failed: map[deploy.Key]error{}, started: map[deploy.Key]bool{},
	}
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	if _, err := r.prepare(ctx); err != nil {
		for _, key := range keys {
			r.untouched(key, "handing back", err)
		}
		return r.failed
	}
	var watching, handing sync.WaitGroup
	watching.Go(status.RecoveringTo(func(error) {}, "watching BundleDeployments", func() { r.tracker.follow(following) }))
	bundles := map[string][]deploy.Key{}
	for _, key := range keys {
		bundles[key.Bundle] = append(bundles[key.Bundle], key)
	}
	for bundle, of := range bundles {
		failed := func(err error) { r.failHandBack(of, err) }
		handing.Go(status.RecoveringTo(failed, "handing back", func() { r.handBack(ctx, bundle, of) }))
	}
	handing.Wait()
	stop()
	watching.Wait()
	return r.failed
}

func (r *run) failHandBack(keys []deploy.Key, err error) {
	for _, key := range keys {
		r.untouched(key, "handing back", err)
	}
}

// handBack hands the deployments of one bundle back in two steps: first their agents are told to keep
// the objects, then Fleet forgets the deployments.
func (r *run) handBack(ctx context.Context, bundle string, keys []deploy.Key) {
	name := r.nameOf(bundle)
	keys = slices.DeleteFunc(keys, func(key deploy.Key) bool {
		isOffline := r.isOffline(key)
		if isOffline {
			r.failHandBack([]deploy.Key{key}, &OfflineHandBackError{Cluster: key.Cluster, LastSeen: r.view.clusters[key.Cluster].lastSeen})
		}
		return isOffline
	})
	if err := r.slots.Acquire(ctx, 1); err != nil {
		r.failHandBack(keys, context.Cause(ctx))
		return
	}
	defer r.slots.Release(1)
	kept, digest, err := r.keep(ctx, bundle, name, keys)
	if err != nil {
		r.failHandBack(keys, err)
		return
	}
	left := r.awaitEach(ctx, name, digest, kept, func(bd *bundleDeployment) bool { return bd.isApplied(digest) }, errNotKept)
	var released []deploy.Key
	for _, key := range keys {
		if err := left[key.Cluster]; err != nil {
			r.failHandBack([]deploy.Key{key}, err)
			continue
		}
		released = append(released, key)
	}
	if len(released) == 0 {
		return
	}
	if err := r.drop(ctx, bundle, name, released); err != nil {
		r.failHandBack(released, err)
		return
	}
	r.awaitDropped(ctx, name, released)
}

// keep makes agents keep the objects of deployments. kept are the clusters whose agents have to
// apply that.
func (r *run) keep(ctx context.Context, bundle, name string, keys []deploy.Key) (kept []string, digest string, err error) {
	digest, err = r.store.apply(ctx, edit{name: name, bundle: bundle, mark: r.markOf(bundle), change: func(before *stored) (content, error) {
		kept = nil
		if before == nil {
			return content{}, nil
		}
		wanted := before.content
		wanted.entries = maps.Clone(wanted.entries)
		for _, key := range keys {
			of, there := wanted.entries[key.Cluster]
			if !there {
				continue
			}
			wanted.entries[key.Cluster] = of.kept()
			kept = append(kept, key.Cluster)
		}
		return wanted, nil
	}})
	return kept, digest, err
}
