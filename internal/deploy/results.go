package deploy

import (
	"cmp"
	"maps"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// results collects what the operations on one cluster came to.
type results struct {
	prior map[Key]Record

	mu       sync.Mutex
	records  map[Key]Record
	failures []Failure
	versions map[string]Versions
	notices  []Notice
	written  map[string]map[Key]sighted // by cluster
}

// wrote notes a release whose objects are to be looked at.
func (r *results) wrote(key Key, seen sighted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written == nil {
		r.written = map[string]map[Key]sighted{}
	}
	if r.written[key.Cluster] == nil {
		r.written[key.Cluster] = map[Key]sighted{}
	}
	r.written[key.Cluster][key] = seen
}

// sighted are the releases that were written on a cluster.
func (r *results) sighted(cluster string) map[Key]sighted {
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
	return Outcome{Records: r.records, Failures: r.failures, Versions: r.versions, Notices: r.notices}
}

// found notes the versions of objects on a cluster.
func (r *results) found(cluster string, versions Versions) {
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

// left notes what a removal has left behind on purpose.
func (r *results) left(key Key, removed release.Removed) {
	if len(removed.Kept)+len(removed.InNamespace)+len(removed.NotOwned) > 0 || removed.Untrusted {
		r.notice(Notice{Cluster: key.Cluster, Bundle: key.Bundle, Removed: removed})
	}
}

// leftTo notes that another target or somebody else has a release now, if it is there.
func (r *results) leftTo(key Key, observed *release.Observed) {
	if !release.IsThere(observed) {
		return
	}
	holder := cmp.Or(observed.Mark.Holder(), "another owner (its record has no mark of this provider)")
	r.notice(Notice{Cluster: key.Cluster, Bundle: key.Bundle, LeftTo: holder})
}

func (r *results) notice(notice Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = append(r.notices, notice)
}

// yielded notes objects of a deployment that was written which wait to be taken over. What
// failed has them still, as far as the state knows.
func (r *results) yielded(key Key, left map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record, known := r.records[key]
	if !known || record.State == status.ErrApplied {
		return
	}
	record.Yielded = left
	r.records[key] = record
}

func (r *results) succeeded(key Key, record Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records[key] = record
}

// untouched notes a failure that came before anything was written: what was
// true before still is.
func (r *results) untouched(key Key, doing string, err error) {
	prior, ok := r.prior[key]
	if !ok {
		r.failed(key, doing, err, nil)
		return
	}
	r.failed(key, doing, err, &prior)
}

// allUntouched notes one failure for deployments of which nothing was written.
func (r *results) allUntouched(keys []Key, doing string, err error) {
	for _, key := range keys {
		r.untouched(key, doing, err)
	}
}

// held notes a deployment that was not begun. What is known of it is as good as before.
func (r *results) held(key Key, doing string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, Failure{Cluster: key.Cluster, Bundle: key.Bundle, Doing: doing, Err: err})
	if prior, ok := r.prior[key]; ok {
		r.records[key] = prior
	}
}

// failed notes a failure and what is there now, nil for nothing.
func (r *results) failed(key Key, doing string, err error, left *Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, Failure{Cluster: key.Cluster, Bundle: key.Bundle, Doing: doing, Err: err})
	if left == nil {
		return
	}
	record := *left
	if record.State == status.ErrApplied {
		record.Message = status.Message(err.Error())
	}
	r.records[key] = record
}
