package run

import (
	"cmp"
	"maps"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// results collects the results of the operations of a request.
type results struct {
	prior map[deploy.Key]deploy.Record

	mu       sync.Mutex
	records  map[deploy.Key]deploy.Record
	failures []deploy.Failure
	failed   map[deploy.Key]error
	// asBefore are failed deployments that are as they were before the apply.
	asBefore map[deploy.Key]bool
	versions map[string]deploy.Versions
	notices  []deploy.Notice
	warned   []policy.Violation
	written  map[string]map[deploy.Key]pendingInspection // by cluster
}

// addWritten notes a release whose objects are to be inspected.
func (r *results) addWritten(key deploy.Key, seen pendingInspection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written[key.Cluster] == nil {
		r.written[key.Cluster] = map[deploy.Key]pendingInspection{}
	}
	r.written[key.Cluster][key] = seen
}

// pendingInspections returns the releases on a cluster whose objects are to be inspected.
func (r *results) pendingInspections(cluster string) map[deploy.Key]pendingInspection {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.written[cluster])
}

func (r *results) record(key deploy.Key) (record deploy.Record, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record, known = r.records[key]
	return record, known
}

func (r *results) outcome() deploy.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return deploy.Outcome{Records: r.records, Failures: r.failures, Versions: r.versions, Notices: r.notices, Warned: r.warned}
}

// addVersions notes the versions of objects on a cluster.
func (r *results) addVersions(cluster string, versions deploy.Versions) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.versions == nil {
		r.versions = map[string]deploy.Versions{}
	}
	if r.versions[cluster] == nil {
		r.versions[cluster] = deploy.Versions{}
	}
	maps.Copy(r.versions[cluster], versions)
}

// addLeftBehind notes what a removal has left behind on purpose.
func (r *results) addLeftBehind(key deploy.Key, removed release.Removed) {
	if len(removed.Kept)+len(removed.InNamespace)+len(removed.NotOwned) > 0 || removed.Untrusted {
		r.notice(deploy.Notice{Cluster: key.Cluster, Bundle: key.Bundle, Removed: removed})
	}
}

// addAccepted notes fields that a cluster changed when they were written.
func (r *results) addAccepted(key deploy.Key, fields []string) {
	if len(fields) > 0 {
		r.notice(deploy.Notice{Cluster: key.Cluster, Bundle: key.Bundle, Accepted: fields})
	}
}

// addLeftTo notes that another target or another owner has a release now, if the release exists.
func (r *results) addLeftTo(key deploy.Key, observed *release.Observed) {
	if !release.Exists(observed) {
		return
	}
	identity := cmp.Or(observed.Mark.OwnerText(), "another owner (its record has no mark of this provider)")
	r.notice(deploy.Notice{Cluster: key.Cluster, Bundle: key.Bundle, LeftTo: identity})
}

func (r *results) notice(notice deploy.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = append(r.notices, notice)
}

// addHandedOver notes objects of a written deployment that wait to be taken over. A failed deployment
// still has its objects in state.
func (r *results) addHandedOver(key deploy.Key, left map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record, known := r.records[key]
	if !known || record.State == status.ErrApplied {
		return
	}
	record.HandedOver = left
	r.records[key] = record
}

func (r *results) addSucceeded(key deploy.Key, record deploy.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records[key] = record
}

// addUntouched notes a failure before anything was written: the former record is still true.
func (r *results) addUntouched(key deploy.Key, doing string, err error) {
	if prior := r.prior[key]; prior.State == status.ErrApplied { // It has failed again, for another reason.
		r.addFailed(key, doing, err, &prior)
		return
	}
	r.addHeld(key, doing, err)
}

// addAllUntouched notes one failure for deployments of which nothing was written.
func (r *results) addAllUntouched(keys []deploy.Key, doing string, err error) {
	for _, key := range keys {
		r.addUntouched(key, doing, err)
	}
}

// addHeld notes a deployment that was not begun. Its record from before stays valid.
func (r *results) addHeld(key deploy.Key, doing string, err error) {
	if prior, ok := r.prior[key]; ok {
		r.addKept(key, doing, err, &prior)
		return
	}
	r.addKept(key, doing, err, nil)
}

// failure returns the last failure of a deployment, nil if there is none.
func (r *results) failure(key deploy.Key) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed[key]
}

// addAsBefore notes that a failed deployment is as it was before the apply.
func (r *results) addAsBefore(key deploy.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asBefore[key] = true
}

// isAsBefore reports whether addAsBefore was called.
func (r *results) isAsBefore(key deploy.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asBefore[key]
}

// addFailed notes an operation that failed, and the record of what it left, nil for nothing.
func (r *results) addFailed(key deploy.Key, doing string, err error, left *deploy.Record) {
	if left != nil {
		failed := left.With(status.Facts{Failed: err.Error()})
		left = &failed
	}
	r.addKept(key, doing, err, left)
}

// addKept notes a failure and the record of what exists now, nil for nothing.
func (r *results) addKept(key deploy.Key, doing string, err error, record *deploy.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, key.Failure(doing, err))
	r.failed[key] = err
	if record != nil {
		r.records[key] = *record
	}
}

// addWarned notes violations that only warn.
func (r *results) addWarned(violations []policy.Violation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warned = append(r.warned, violations...)
}
