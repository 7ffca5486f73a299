package fleet

import (
	"context"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
)

// results are the results of one apply, by deployment.
type results struct {
	write  []deploy.Key
	remove []deploy.Key
	prior  map[deploy.Key]deploy.Record

	mu       sync.Mutex
	records  map[deploy.Key]deploy.Record
	failures []deploy.Failure
	failed   map[deploy.Key]error
	started  map[deploy.Key]bool
	notices  []deploy.Notice
}

func newResults(request run.Request) *results {
	r := &results{
		remove: request.Remove, prior: request.Prior,
		records: map[deploy.Key]deploy.Record{}, failed: map[deploy.Key]error{}, started: map[deploy.Key]bool{},
	}
	for _, d := range request.Write {
		r.write = append(r.write, deploy.KeyOf(d))
	}
	return r
}

// untouched records a failure before anything was written.
func (r *results) untouched(key deploy.Key, doing string, err error) {
	if prior, ok := r.prior[key]; ok {
		r.fail(key, doing, err, &prior)
		return
	}
	r.fail(key, doing, err, nil)
}

func (r *results) untouchedAll(keys []deploy.Key, doing string, err error) {
	for _, key := range keys {
		r.untouched(key, doing, err)
	}
}

// fail records a failure and the record of the existing deployment, nil if there is none.
func (r *results) fail(key deploy.Key, doing string, err error, left *deploy.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, key.Failure(doing, err))
	r.failed[key] = err
	if left != nil {
		r.records[key] = *left
	}
}

func (r *results) succeed(key deploy.Key, record deploy.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records[key] = record
}

// hasSucceeded reports whether a deployment has not failed so far.
func (r *results) hasSucceeded(key deploy.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed[key] == nil
}

func (r *results) start(key deploy.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started[key] = true
}

func (r *results) notice(notice deploy.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = append(r.notices, notice)
}

func (r *results) outcome(ctx context.Context) deploy.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	outcome := deploy.Outcome{Records: r.records, Failures: r.failures, Notices: r.notices}
	if ctx.Err() != nil {
		outcome.Interruption = r.interruption()
	}
	slices.SortFunc(outcome.Failures, deploy.Failure.Compare)
	slices.SortFunc(outcome.Notices, deploy.Notice.Compare)
	return outcome
}

// interruption sorts the deployments of an apply that was interrupted. The caller holds the lock.
func (r *results) interruption() *deploy.Interruption {
	found := &deploy.Interruption{}
	add := func(key deploy.Key, done *[]deploy.Key) {
		switch {
		case r.failed[key] == nil:
			*done = append(*done, key)
		case r.started[key]:
			found.Unfinished = append(found.Unfinished, key)
		default:
			found.NotStarted = append(found.NotStarted, key)
		}
	}
	for _, key := range r.write {
		add(key, &found.Finished)
	}
	for _, key := range r.remove {
		add(key, &found.Removed)
	}
	for _, keys := range [][]deploy.Key{found.Finished, found.Removed, found.Unfinished, found.NotStarted} {
		slices.SortFunc(keys, deploy.Key.Compare)
	}
	return found
}
