package deploy

import (
	"cmp"
	"maps"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// results collects what the operations on one cluster came to.
type results struct {
	prior map[Key]Record

	mu       sync.Mutex
	records  map[Key]Record
	failures []Failure
	failed   map[Key]error
	// asBefore are failed deployments that are as they were before the apply.
	asBefore map[Key]bool
	versions map[string]Versions
	notices  []Notice
	warned   []policy.Violation
	written  map[string]map[Key]pendingInspection // by cluster
}

// addWritten notes a release whose objects are to be looked at.
func (r *results) addWritten(key Key, seen pendingInspection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written == nil {
		r.written = map[string]map[Key]pendingInspection{}
	}
	if r.written[key.Cluster] == nil {
		r.written[key.Cluster] = map[Key]pendingInspection{}
	}
	r.written[key.Cluster][key] = seen
}

// pendingInspections are the releases that were written on a cluster.
func (r *results) pendingInspections(cluster string) map[Key]pendingInspection {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.written[cluster])
}

func (r *results) record(key Key) (record Record, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record, known = r.records[key]
	return record, known
}

func (r *results) outcome() Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Outcome{Records: r.records, Failures: r.failures, Versions: r.versions, Notices: r.notices, Warned: r.warned}
}

// addVersions notes the versions of objects on a cluster.
func (r *results) addVersions(cluster string, versions Versions) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.versions == nil {
		r.versions = map[string]Versions{}
	}
	if r.versions[cluster] == nil {
		r.versions[cluster] = Versions{}
	}
	maps.Copy(r.versions[cluster], versions)
}

// addLeftBehind notes what a removal has left behind on purpose.
func (r *results) addLeftBehind(key Key, removed release.Removed) {
	if len(removed.Kept)+len(removed.InNamespace)+len(removed.NotOwned) > 0 || removed.Untrusted {
		r.notice(Notice{Cluster: key.Cluster, Bundle: key.Bundle, Removed: removed})
	}
}

// addLeftTo notes that another target or somebody else has a release now, if it is there.
func (r *results) addLeftTo(key Key, observed *release.Observed) {
	if !release.Exists(observed) {
		return
	}
	identity := cmp.Or(observed.Mark.OwnerText(), "another owner (its record has no mark of this provider)")
	r.notice(Notice{Cluster: key.Cluster, Bundle: key.Bundle, LeftTo: identity})
}

func (r *results) notice(notice Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = append(r.notices, notice)
}

// addYielded notes objects of a deployment that was written which wait to be taken over. What
// failed has them still, as far as the state knows.
func (r *results) addYielded(key Key, left map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record, known := r.records[key]
	if !known || record.State == status.ErrApplied {
		return
	}
	record.Yielded = left
	r.records[key] = record
}

func (r *results) addSucceeded(key Key, record Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records[key] = record
}

// addUntouched notes a failure that came before anything was written: what was
// true before still is.
func (r *results) addUntouched(key Key, doing string, err error) {
	prior, ok := r.prior[key]
	if !ok {
		r.addFailed(key, doing, err, nil)
		return
	}
	r.addFailed(key, doing, err, &prior)
}

// addAllUntouched notes one failure for deployments of which nothing was written.
func (r *results) addAllUntouched(keys []Key, doing string, err error) {
	for _, key := range keys {
		r.addUntouched(key, doing, err)
	}
}

// addHeld notes a deployment that was not begun. What is known of it is as good as before.
func (r *results) addHeld(key Key, doing string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail(key, doing, err)
	if prior, ok := r.prior[key]; ok {
		r.records[key] = prior
	}
}

// fail notes a failure. The caller has the lock.
func (r *results) fail(key Key, doing string, err error) {
	r.failures = append(r.failures, Failure{Cluster: key.Cluster, Bundle: key.Bundle, Doing: doing, Err: err})
	if r.failed == nil {
		r.failed = map[Key]error{}
	}
	r.failed[key] = err
}

// failure returns why a deployment failed last, nil if it did not.
func (r *results) failure(key Key) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed[key]
}

// addAsBefore notes that a failed deployment is as it was before the apply.
func (r *results) addAsBefore(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asBefore == nil {
		r.asBefore = map[Key]bool{}
	}
	r.asBefore[key] = true
}

// isAsBefore reports whether addAsBefore was called.
func (r *results) isAsBefore(key Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asBefore[key]
}

// addFailed notes a failure and what is there now, nil for nothing.
func (r *results) addFailed(key Key, doing string, err error, left *Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail(key, doing, err)
	if left == nil {
		return
	}
	record := *left
	if record.State == status.ErrApplied {
		record.Message = status.Message(err.Error())
	}
	r.records[key] = record
}
