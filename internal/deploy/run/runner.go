// Package run carries deployments out on many clusters at once. It reads each cluster, lets the core
// decide, acts, and reports the true result.
package run

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Cluster performs release operations on one cluster.
type Cluster interface {
	Observer
	RecordReader
	Awaiter
	Writer
}

// Observer reads a cluster and changes nothing.
type Observer interface {
	// Snapshot lists the releases. An error never means that a release does not exist.
	Snapshot(ctx context.Context) (release.Snapshot, error)
	// Release reads the newest record of one release, nil when there is none.
	Release(ctx context.Context, namespace, name string) (*release.Observed, error)
	// Inspect reads the objects of releases and returns a finding for each release, in their
	// order. An error means that no objects were read.
	Inspect(ctx context.Context, releases []release.Inspection) ([]release.Finding, error)
	// Versions returns the version of each object on the cluster, "" for one that does not exist.
	Versions(ctx context.Context, references []target.Reference) (map[target.Reference]string, error)
	// Capabilities returns what charts read about the cluster.
	Capabilities(ctx context.Context) (target.Capabilities, error)
}

// RecordReader reads single release records.
type RecordReader interface {
	// HasRecord reports whether the record of one revision exists. It reads the record by its
	// name.
	HasRecord(ctx context.Context, namespace, name string, revision int) (bool, error)
	// Creator reads who created the newest revision of a release that another tool changed.
	Creator(ctx context.Context, observed release.Observed) (release.Creator, error)
	// Objects reads the keys of the objects that the records of releases name, in the
	// order of the releases.
	Objects(ctx context.Context, releases []release.Observed) ([][]string, error)
}

// Awaiter waits for objects on a cluster.
type Awaiter interface {
	// Await returns when the objects of a release are ready, or when ctx ends. The finding lists
	// the objects that are missing or not ready then. An error means that the objects could not be
	// read.
	Await(ctx context.Context, of release.Inspection) (release.Finding, error)
}

// Writer changes a cluster.
type Writer interface {
	// Write carries out an action other than Uninstall.
	Write(ctx context.Context, action release.Action, d target.Deployment, observed *release.Observed, w release.Write) (release.Written, error)
	// Uninstall removes a release and returns when it is removed. It fails with a
	// *release.ChangedError if the release is no longer as observed. If the release no longer
	// exists, Uninstall does the remaining work, such as removing its namespace.
	Uninstall(ctx context.Context, observed release.Observed, removal release.Removal) (release.Removed, error)
}

// Clusters finds a cluster by its name. It fails when the configuration has no such cluster or its
// connection cannot be read. It opens no connection.
type Clusters func(name string) (Cluster, error)

// Runner runs operations on clusters, never more at once than it was created for.
type Runner struct {
	clusters Clusters
	notify   notifiers
	slots    *semaphore.Weighted
	// waiting are slots for operations that gave their slot back and wait.
	waiting *semaphore.Weighted
}

// notifiers receive the events of a runner.
type notifiers []deploy.Notify

func (n notifiers) send(ctx context.Context, event deploy.Event) {
	for _, notify := range n {
		notify(ctx, event)
	}
}

// maxWaiting is how many operations may only wait for their objects, for each operation in flight
// but the first. Each keeps its chart and its objects in memory.
const maxWaiting = 4

// New returns a runner that keeps at most parallelism operations in flight, over all calls; less
// than 1 counts as 1. An operation that only waits until objects are ready is not counted, unless
// parallelism is 1 or too many operations wait. notify, if given, receives an event for each
// operation that is tried again.
func New(clusters Clusters, parallelism int, notify ...deploy.Notify) *Runner {
	parallelism = max(1, parallelism)
	slots := semaphore.NewWeighted(int64(parallelism))
	return &Runner{
		clusters: withGuard(clusters, slots, notify), slots: slots, notify: notify,
		waiting: semaphore.NewWeighted(int64(maxWaiting * (parallelism - 1))),
	}
}

// With returns the runner with other clusters. The two runners together keep no more operations in
// flight than one of them.
func (r *Runner) With(clusters Clusters) *Runner {
	with := *r
	with.clusters = withGuard(clusters, r.slots, r.notify)
	return &with
}
