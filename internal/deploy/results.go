package deploy

import (
	"maps"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// results collects what the operations on one cluster came to.
type results struct {
	prior map[Key]Record

	mu       sync.Mutex
	records  map[Key]Record
	failures []Failure
	versions map[string]Versions
	left     []Key
}

func (r *results) outcome() Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Outcome{Records: r.records, Failures: r.failures, Versions: r.versions, HandedOver: r.left}
}

// handedOver notes a deployment whose release was left to another target.
func (r *results) handedOver(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, key)
}

func (r *results) record(key Key) (Record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record, ok := r.records[key]
	return record, ok
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
