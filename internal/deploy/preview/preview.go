// Package preview reads clusters for reports about a plan. No plan depends on them.
package preview

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Cluster reads what the reports about a plan need of one cluster.
type Cluster interface {
	run.Observer
	run.RecordReader
	ObjectReader
	// FleetAgent returns the name of an agent of Fleet on the cluster, "" if there is none.
	FleetAgent(ctx context.Context) (string, error)
}

// ObjectReader reads what a plan is compared with.
type ObjectReader interface {
	// Deployed reads what upgrades of releases are merged from, in their order.
	Deployed(ctx context.Context, releases []release.Claimed) []release.Deployed
	// ExistingObjects finds objects that releases are to have and that belong to others.
	ExistingObjects(ctx context.Context, wanted []release.Wanted) ([]release.ExistingObject, error)
	// Compare compares the live objects of releases with the wanted ones.
	Compare(ctx context.Context, wanted []release.Comparison) []release.Compared
	// Definitions compares the custom resource definitions below crds/ of a chart with
	// those of the cluster.
	Definitions(ctx context.Context, d target.Deployment, rendering release.Rendering) ([]release.Definition, error)
	// Lacks returns those of the needs that the cluster does not have.
	Lacks(ctx context.Context, needs release.Needs) (release.Needs, error)
}

// UpgradeCharts renders deployments as upgrades of their releases.
type UpgradeCharts interface {
	plan.Charts
	// UsesLookup reports whether a chart could look up objects of its cluster.
	UsesLookup(d target.Deployment) (bool, error)
	// Upgrade renders a deployment as a revision of its release. Lookups in templates find only
	// the objects of the release.
	Upgrade(ctx context.Context, d target.Deployment, revision int, objects []diff.Document) (release.Rendering, error)
}

// Preview reports conflicts and changes of a plan on clusters. No part of a plan depends on the
// reports, and none of the methods fails: what cannot be read is left out, or reported as not
// compared.
type Preview struct {
	// Connect finds a cluster by its name. It opens no connection.
	Connect func(cluster string) (Cluster, error)
	// Connectable reports whether a cluster is expected to respond.
	Connectable func(cluster string) bool
	Runner      *run.Runner
	Charts      UpgradeCharts
	// Snapshots are shared by all plans of a process.
	Snapshots   *SnapshotCache
	Parallelism int
	// Timeout is how long a plan waits for the responses of clusters to one question.
	Timeout time.Duration
	// Owner is that of the provider. While the owner is not known, only Diff reads clusters.
	Owner        string
	OwnerUnknown bool
	// Former returns what states of this process have had of a release (see release.Key) of the
	// target with an id.
	Former func(instance, key string) []release.Known
}

// readsClusterOf reports whether a plan reads the cluster of a deployment that changes.
func (p *Preview) readsClusterOf(d target.Deployment) bool {
	return !d.Paused && !p.OwnerUnknown && p.Connectable(d.Cluster)
}

// Snapshot lists the releases of a cluster. All plans of a process share the result.
func (p *Preview) Snapshot(ctx context.Context, name string) (Cluster, release.Snapshot, error) {
	cluster, err := p.Connect(name)
	if err != nil {
		return nil, release.Snapshot{}, err
	}
	snapshot, err := p.Snapshots.Get(ctx, name, "reading the cluster", func(ctx context.Context) (release.Snapshot, error) {
		return run.PrefetchSnapshot(ctx, cluster)
	})
	return cluster, snapshot, err
}

// Prefetch begins to list the releases of the clusters that get a new release, while charts are
// rendered. A later call of Snapshot waits for the same list. wait returns when all lists have
// been read.
func (p *Preview) Prefetch(ctx context.Context, write []target.Deployment, prior map[deploy.Key]deploy.Record) (wait func()) {
	clusters := map[string]bool{}
	for _, d := range write {
		if isNew(d, prior[deploy.KeyOf(d)]) && p.readsClusterOf(d) {
			clusters[d.Cluster] = true
		}
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	var reading sync.WaitGroup
	slots := semaphore.NewWeighted(int64(max(1, p.Parallelism)))
	for cluster := range clusters {
		reading.Go(panics.RecoveringTo(func(error) {}, "reading the cluster", func() {
			if slots.Acquire(ctx, 1) != nil {
				return
			}
			defer slots.Release(1)
			_, _, _ = p.Snapshot(ctx, cluster) // The caller that needs the snapshot gets the error.
		}))
	}
	return func() {
		reading.Wait()
		cancel()
	}
}

// forEachCluster calls do for each cluster, several at once. A panic ends the work on one cluster.
func forEachCluster[T any](p *Preview, of map[string]T, do func(cluster string, of T), broken func(cluster string, of T, err error)) {
	var reading errgroup.Group
	reading.SetLimit(max(1, p.Parallelism))
	for cluster, each := range of {
		reading.Go(func() error {
			if err := panics.Recovering("reading the cluster", func() error {
				do(cluster, each)
				return nil
			})(); err != nil && broken != nil {
				broken(cluster, each, err)
			}
			return nil
		})
	}
	_ = reading.Wait() // No function returns an error.
}

// isNew reports whether a deployment gets a release that it did not have.
func isNew(d target.Deployment, prior deploy.Record) bool {
	return !prior.IsAt(d) || prior.Digest == ""
}

// claimant returns the target of a plan in relation to a release on its cluster. A target that a plan
// creates has no id yet. A release of its owner and name is its own if a state of this process has
// had that release. Then the plan replaces the target, and the create takes over what the delete
// leaves.
func (p *Preview) claimant(
	identity deploy.TargetIdentity, key deploy.Key, digest, uid string, prior deploy.Record, observed *release.Observed,
) release.Claimant {
	own := identity.Claimant(key.Bundle, digest, uid, nil)
	if observed == nil {
		return own
	}
	for _, known := range prior.Releases() {
		if known.Namespace == observed.Namespace && known.Release == observed.Release {
			return identity.Claimant(key.Bundle, digest, uid, &known)
		}
	}
	if identity.Instance != "" || own.Ownership(*observed) != release.SameName {
		return own
	}
	for _, known := range p.Former(observed.Mark.Instance, release.Key(observed.Namespace, observed.Release)) {
		if replaced := identity.Claimant(key.Bundle, digest, uid, &known); replaced.Ownership(*observed) == release.Self {
			return replaced
		}
	}
	return own
}
