// Package deploy carries out deployments on many clusters at once. It reads each cluster, lets the
// core decide, acts, and reports the true result.
package deploy

import (
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/semaphore"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
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

// Engine runs operations on clusters, never more at once than it was created for.
type Engine struct {
	clusters Clusters
	notify   notifiers
	tokens   *semaphore.Weighted
	// waiting are places for operations that gave their slot back and wait.
	waiting *semaphore.Weighted
}

// maxWaiting is how many operations may only wait for their objects, for each operation in flight
// but the first. Each keeps its chart and its objects in memory.
const maxWaiting = 4

// New returns an engine that keeps at most parallelism operations in flight, over all calls; less
// than 1 counts as 1. An operation that only waits until objects are ready is not counted, unless
// parallelism is 1 or too many operations wait. notify, if given, receives an event for each
// operation that is tried again.
func New(clusters Clusters, parallelism int, notify ...Notify) *Engine {
	parallelism = max(1, parallelism)
	slots := semaphore.NewWeighted(int64(parallelism))
	return &Engine{
		clusters: withRecovery(withRetries(clusters, slots, notify)), tokens: slots, notify: notify,
		waiting: semaphore.NewWeighted(int64(maxWaiting * (parallelism - 1))),
	}
}

// With returns the engine with other clusters. The two engines together keep no more operations in
// flight than one of them.
func (e *Engine) With(clusters Clusters) *Engine {
	with := *e
	with.clusters = withRecovery(withRetries(clusters, e.tokens, e.notify))
	return &with
}

// Record is what is recorded of one deployment after it was carried out or read.
type Record struct {
	Release   string
	Namespace string
	Chart     string
	Version   string
	// Digest is that of the deployment on the cluster, "" when the release on the cluster was not
	// made by this provider.
	Digest  string
	State   status.State
	Message string
	// Waits reports that an engine carries the deployment out without another apply, when the
	// agent of the cluster is back.
	Waits bool
	// Objects maps the key of each rendered object to a short hash. NamesVary reports that another
	// apply could make objects of other names, so that the state shows only the number of objects.
	Objects   map[string]string
	NamesVary bool
	// HidesNames reports that the names of the objects can contain secret values. Then Objects has
	// numbers in place of their keys.
	HidesNames bool
	// Counts are the objects on the cluster.
	Counts status.Counts
	// Rules and Stored are what the objects are compared by; see release.Inspection.
	Rules  release.Rules
	Stored map[string]string
	// Yielded maps objects that the release no longer has to the bundle that is to take them over.
	// They were left on the cluster, and that bundle has not taken them over yet.
	Yielded map[string]string
	// BundleLabels are the labels that the bundle had when the deployment was written, nil if they
	// are not known, as after an import.
	BundleLabels map[string]string
	// Known is what a removal of the release needs.
	Known release.Known
	// Left are further releases of the deployment that may be on the cluster. When a move failed,
	// Left has the release that the deployment moved from or was to move to. The next write
	// removes them.
	Left []release.Known
}

// all returns the releases of the deployment that may be on the cluster, none if state does not
// have the deployment.
func (r Record) all() []release.Known {
	if r.Release == "" {
		return r.Left
	}
	return append([]release.Known{r.current()}, r.Left...)
}

// namedObjects returns the objects, nil if their names are not known.
func (r Record) namedObjects() map[string]string {
	if r.HidesNames {
		return nil
	}
	return r.Objects
}

// current returns the release of the deployment as it is recorded in state.
func (r Record) current() release.Known {
	known := r.Known
	known.Release, known.Namespace = r.Release, r.Namespace
	return known
}

// Equal reports whether two records are the same.
func (r Record) Equal(other Record) bool {
	return r.Release == other.Release && r.Namespace == other.Namespace && r.Chart == other.Chart && r.Version == other.Version &&
		r.Digest == other.Digest && r.State == other.State && r.Message == other.Message && r.Waits == other.Waits && maps.Equal(r.Objects, other.Objects) && r.NamesVary == other.NamesVary && r.HidesNames == other.HidesNames &&
		r.Counts == other.Counts && r.Rules.Equal(other.Rules) && maps.Equal(r.Stored, other.Stored) && maps.Equal(r.Yielded, other.Yielded) &&
		maps.Equal(r.BundleLabels, other.BundleLabels) && (r.BundleLabels == nil) == (other.BundleLabels == nil) && r.Known == other.Known && slices.Equal(r.Left, other.Left)
}

// Drift is how closely deployments are compared with their clusters.
type Drift string

const (
	// DriftLive compares live objects with what was deployed.
	DriftLive Drift = "live"
	// DriftRelease compares release records. It reads objects only of deployments that were not
	// ready, to find out whether they have become ready.
	DriftRelease Drift = "release"
	// DriftNone checks whether the release exists, and nothing else.
	DriftNone Drift = "none"
)

// Failure is one deployment that did not reach the wanted state.
type Failure struct {
	Cluster string
	Bundle  string
	// Doing is what was being done, such as "installing".
	Doing string
	Err   error
}

// Notice is a fact about a deployment that the user should read although nothing failed.
type Notice struct {
	Cluster string
	Bundle  string
	Removed release.Removed
	// LeftTo names the owner that has taken the release over, so that it was not removed.
	LeftTo string
	// Remains is why the release can still be on the cluster, "" if it is not.
	Remains string
	// Accepted are fields that the cluster changed when they were written, each with its object.
	// They are no drift as long as they stay as they are.
	Accepted []string
	// Waits is what a deployment that was left to Fleet waits for, "" if it is carried out.
	Waits string
}
