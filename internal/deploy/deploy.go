// Package deploy carries deployments out on many clusters at once: it looks at
// each cluster, lets the core decide, acts, and says truthfully what came of it.
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

// Observer looks at a cluster and changes nothing.
type Observer interface {
	// Snapshot reads what is there. An error never means that something is not.
	Snapshot(ctx context.Context) (release.Snapshot, error)
	// Release reads the newest record of one release, nil when there is none.
	Release(ctx context.Context, namespace, name string) (*release.Observed, error)
	// Inspect looks at the objects of releases and answers a finding for each, in
	// their order. Its error means that none was looked at.
	Inspect(ctx context.Context, releases []release.Inspection) ([]release.Finding, error)
	// Versions answers which revision of each object is there, "" for one that is
	// not.
	Versions(ctx context.Context, references []target.Reference) (map[target.Reference]string, error)
	// Capabilities answers what charts ask of the cluster.
	Capabilities(ctx context.Context) (target.Capabilities, error)
}

// RecordReader reads single release records.
type RecordReader interface {
	// HasRecord reads by its name whether the record of one revision is there.
	HasRecord(ctx context.Context, namespace, name string, revision int) (bool, error)
	// Maker reads who made the newest revision of a release that another tool changed.
	Maker(ctx context.Context, observed release.Observed) (release.Maker, error)
	// Objects reads the keys of the objects that the records of releases name, in the
	// order of the releases.
	Objects(ctx context.Context, releases []release.Observed) ([][]string, error)
}

// Awaiter waits for what is on a cluster.
type Awaiter interface {
	// Await returns when the objects of a release are ready, or ctx ends, with a finding
	// that tells which are missing or not ready then. Its error means that they could
	// not be looked at.
	Await(ctx context.Context, of release.Inspection) (release.Finding, error)
}

// Writer changes a cluster.
type Writer interface {
	// Write carries out an action other than Uninstall.
	Write(ctx context.Context, action release.Action, d target.Deployment, observed *release.Observed, w release.Write) (release.Written, error)
	// Uninstall removes a release and returns when it is gone. It fails with a
	// *release.ChangedError if the release is not as observed any more. Of one that is
	// gone it does what is left to do, as to remove its namespace.
	Uninstall(ctx context.Context, observed release.Observed, removal release.Removal) (release.Removed, error)
}

// Clusters finds a cluster by its name. It fails when the cluster is not known
// or its connection cannot be read, and dials nothing.
type Clusters func(name string) (Cluster, error)

// Engine runs operations on clusters, never more at once than it was made for.
type Engine struct {
	clusters Clusters
	notify   notifiers
	tokens   *semaphore.Weighted
	// waiting are places for operations that gave their slot back and wait.
	waiting *semaphore.Weighted
}

// maxWaiting is how many operations, for each one in flight but the first, may only
// wait for their objects. Each holds its chart and its objects in memory.
const maxWaiting = 4

// New makes an engine that keeps at most parallelism operations in flight, over
// all calls; less than 1 counts as 1. What only waits until objects are ready counts
// as one as long as that is all there may be, or too many wait. notify, if given, is
// told of operations that are tried again.
func New(clusters Clusters, parallelism int, notify ...Notify) *Engine {
	parallelism = max(1, parallelism)
	slots := semaphore.NewWeighted(int64(parallelism))
	return &Engine{
		clusters: withRecovery(withRetries(clusters, slots, notify)), tokens: slots, notify: notify,
		waiting: semaphore.NewWeighted(int64(maxWaiting * (parallelism - 1))),
	}
}

// With is the engine with other clusters. Both together keep no more operations in flight than
// one of them.
func (e *Engine) With(clusters Clusters) *Engine {
	with := *e
	with.clusters = withRecovery(withRetries(clusters, e.tokens, e.notify))
	return &with
}

// Record is what is known of one deployment after it was carried out or looked
// at.
type Record struct {
	Release   string
	Namespace string
	Chart     string
	Version   string
	// Digest is that of the deployment on the cluster, "" when the release
	// there is not one of this provider.
	Digest  string
	State   status.State
	Message string
	// Waits reports that an engine carries the deployment out without another apply, when the
	// agent of the cluster is back.
	Waits bool
	// Objects maps the key of each rendered object to a short hash. NamesVary reports that
	// another apply could make objects of other names, so that the state shows only how many
	// there are.
	Objects   map[string]string
	NamesVary bool
	// Counts are the objects on the cluster.
	Counts status.Counts
	// Rules and Stored are what its objects are judged by; see release.Inspection.
	Rules  release.Rules
	Stored map[string]string
	// Yielded are objects that the release no longer has and that were left on the cluster for
	// another bundle, by the name of that one, which has not taken them over yet.
	Yielded map[string]string
	// Known is what a removal of the release needs.
	Known release.Known
	// Left are further releases of the deployment that may be on the cluster: what it
	// moved from, or was to move to, when a move failed. The next write removes them.
	Left []release.Known
}

// all are the releases of the deployment that may be on the cluster, none if state does
// not know the deployment.
func (r Record) all() []release.Known {
	if r.Release == "" {
		return r.Left
	}
	return append([]release.Known{r.current()}, r.Left...)
}

// current is what state knows of the release of the deployment.
func (r Record) current() release.Known {
	known := r.Known
	known.Release, known.Namespace = r.Release, r.Namespace
	return known
}

// Equal says whether two records are the same.
func (r Record) Equal(other Record) bool {
	return r.Release == other.Release && r.Namespace == other.Namespace && r.Chart == other.Chart && r.Version == other.Version &&
		r.Digest == other.Digest && r.State == other.State && r.Message == other.Message && r.Waits == other.Waits && maps.Equal(r.Objects, other.Objects) && r.NamesVary == other.NamesVary &&
		r.Counts == other.Counts && r.Rules.Equal(other.Rules) && maps.Equal(r.Stored, other.Stored) && maps.Equal(r.Yielded, other.Yielded) &&
		r.Known == other.Known && slices.Equal(r.Left, other.Left)
}

// Drift says how closely deployments are looked at.
type Drift string

const (
	// DriftLive compares live objects with what was deployed.
	DriftLive Drift = "live"
	// DriftRelease compares release records, and looks at objects only to see whether
	// those become ready that were not.
	DriftRelease Drift = "release"
	// DriftNone looks whether there is a release, and nothing else.
	DriftNone Drift = "none"
)

// Failure is one deployment that did not come out as wanted.
type Failure struct {
	Cluster string
	Bundle  string
	// Doing is what was being done, such as "installing".
	Doing string
	Err   error
}

// Notice is what is worth knowing of a deployment although nothing failed.
type Notice struct {
	Cluster string
	Bundle  string
	Removed release.Removed
	// LeftTo names who has taken the release over, so that it was not removed.
	LeftTo string
	// Remains says why the release can still be on the cluster, "" if it is not.
	Remains string
	// Waits says for what a deployment waits that was left to Fleet, "" if it is carried out.
	Waits string
}
