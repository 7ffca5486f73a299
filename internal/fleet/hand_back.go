package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

// keptSuffix is added to the digest of a deployment whose objects must stay. The deployment then
// counts as changed until it is handed back.
const keptSuffix = "-kept"

// version returns the digest of the deployment of an entry, without keptSuffix.
func (e entry) version() string { return strings.TrimSuffix(e.digest, keptSuffix) }

// kept returns the entry with the option to keep its objects when it is removed.
func (e entry) kept() entry {
	options := maps.Clone(e.options)
	options["keepResources"] = true
	return entry{options: options, values: e.values, digest: e.version() + keptSuffix}
}

// errNotKept makes HandBack wait.
var errNotKept = errors.New("the agent has not applied yet that the objects stay")

// HandBack makes Fleet stop managing deployments of a target. Their releases and objects stay, and
// no agent monitors them any more. HandBack returns an error for each deployment that Fleet still
// manages. A deployment that Fleet does not have counts as handed back.
func (e *Engine) HandBack(ctx context.Context, request run.Request, keys []deploy.Key) map[deploy.Key]error {
	h := handBack{removal: removal{e.newRun(request)}, left: map[deploy.Key]error{}}
	if _, err := h.prepare(ctx); err != nil {
		h.fail(keys, err)
		return h.left
	}
	stop := h.follow(ctx)
	defer stop()
	bundles := map[string][]deploy.Key{}
	for _, key := range keys {
		bundles[key.Bundle] = append(bundles[key.Bundle], key)
	}
	var handing sync.WaitGroup
	for bundle, of := range bundles {
		failed := func(err error) { h.fail(of, err) }
		handing.Go(panics.RecoveringTo(failed, "handing back", func() { h.bundle(ctx, bundle, of) }))
	}
	handing.Wait()
	return h.left
}

// handBack hands deployments back.
type handBack struct {
	removal
	left map[deploy.Key]error // Guarded by the lock of the results.
}

func (h handBack) fail(keys []deploy.Key, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		h.left[key] = err
	}
}

// bundle hands the deployments of one bundle back in two steps: the agents apply keepResources, then
// Fleet deletes the BundleDeployments.
func (h handBack) bundle(ctx context.Context, bundle string, keys []deploy.Key) {
	name, online := h.nameOf(bundle), h.online(keys)
	if len(online) == 0 {
		return
	}
	if err := h.slots.Acquire(ctx, 1); err != nil {
		h.fail(online, context.Cause(ctx))
		return
	}
	kept, digest, err := h.keep(ctx, bundle, name, online)
	h.slots.Release(1)
	if err != nil {
		h.fail(online, err)
		return
	}
	left := h.awaitEach(ctx, name, digest, kept, func(bd *bundleDeployment) bool { return bd.isApplied(digest) }, errNotKept)
	var released []deploy.Key
	for _, key := range online {
		if err := left[key.Cluster]; err != nil {
			h.fail([]deploy.Key{key}, err)
			continue
		}
		released = append(released, key)
	}
	if len(released) == 0 {
		return
	}
	if digest, err = h.drop(ctx, bundle, name, released); err != nil {
		h.fail(released, err)
		return
	}
	if left, err := h.awaitForgotten(ctx, name, released); err != nil {
		h.fail(left, err)
	}
	if digest != "" {
		h.awaitOthers(ctx, name, digest)
		return
	}
	if err := h.store.awaitDeleted(ctx, name); err != nil {
		h.fail(released, err)
	}
}

// online returns the deployments whose agents can hand them back. It records an error for the
// others.
func (h handBack) online(keys []deploy.Key) []deploy.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(key deploy.Key) bool {
		if !h.isOffline(key) {
			return false
		}
		h.fail([]deploy.Key{key}, fmt.Errorf("the agent of cluster %s %s, and only the agent can let go of the release; start it and apply again",
			key.Cluster, h.view.clusters[key.Cluster].seen()))
		return true
	})
}

// keep makes agents keep the objects of deployments. kept are the clusters whose agents have to
// apply that.
func (h handBack) keep(ctx context.Context, bundle, name string, keys []deploy.Key) (kept []string, digest string, err error) {
	digest, err = h.change(ctx, bundle, name, func(before *stored, wanted *content) {
		kept = nil
		for _, key := range keys {
			of, there := wanted.entries[key.Cluster]
			if !there {
				continue
			}
			wanted.entries[key.Cluster] = h.forceSync(name, key.Cluster, before, of.kept())
			kept = append(kept, key.Cluster)
		}
	})
	return kept, digest, err
}
