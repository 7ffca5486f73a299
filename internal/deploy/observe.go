package deploy

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Observation is what is known after looking.
type Observation struct {
	// Records holds the deployments that are there, and unchanged those that
	// could not be looked at.
	Records map[Key]Record
	// UIDs maps each cluster that answered to its identity.
	UIDs map[string]string
	// Failures has one entry for each cluster that could not be asked, and one
	// for each deployment whose objects could not be looked at.
	Failures []Failure
}

// Holder is whose deployments are looked at.
type Holder struct {
	Owner, Target, Instance string
}

// Observe looks at the clusters of the given records. Only a cluster that
// answered can make a record disappear.
func (e *Engine) Observe(ctx context.Context, holder Holder, records map[Key]Record) Observation {
	byCluster := map[string][]Key{}
	for key := range records {
		byCluster[key.Cluster] = append(byCluster[key.Cluster], key)
	}
	found := &sightings{prior: records, observation: Observation{Records: map[Key]Record{}, UIDs: map[string]string{}}}
	var looking sync.WaitGroup
	for name, keys := range byCluster {
		looking.Go(func() { e.observeCluster(ctx, name, keys, holder, found) })
	}
	looking.Wait()
	slices.SortFunc(found.observation.Failures, compareFailures)
	return found.observation
}

// observeCluster looks at one cluster. The objects of what was not ready are
// looked at as well, all at once.
func (e *Engine) observeCluster(ctx context.Context, name string, keys []Key, holder Holder, found *sightings) {
	cluster, snapshot, err := e.look(ctx, name)
	if err != nil {
		found.unseen(Failure{Cluster: name, Doing: "looking at the cluster", Err: err}, keys...)
		return
	}
	found.answered(name, snapshot.UID)
	var asking sync.WaitGroup
	for _, key := range keys {
		prior := found.prior[key]
		observed := snapshot.Find(prior.Namespace, prior.Release)
		if !isThere(observed) {
			continue
		}
		record := fold(prior, *observed, release.NewMark(holder.Owner, holder.Target, holder.Instance, key.Bundle, prior.Digest))
		if record.State != status.NotReady {
			found.seen(key, record)
			continue
		}
		asking.Go(func() {
			err := e.ready(ctx, cluster, *observed)
			if isUnanswered(err) {
				found.unseen(Failure{Cluster: name, Bundle: key.Bundle, Doing: "looking at the objects", Err: err}, key)
				return
			}
			record.State, record.Message = status.Ready, ""
			if err != nil {
				record.State, record.Message = status.NotReady, status.Message(err.Error())
			}
			found.seen(key, record)
		})
	}
	asking.Wait()
}

func (e *Engine) ready(ctx context.Context, cluster Cluster, observed release.Observed) error {
	done, err := e.slot(ctx)
	if err != nil {
		return err
	}
	defer done()
	return cluster.Ready(ctx, observed)
}

// isUnanswered tells errors that say nothing about objects from those that do.
func isUnanswered(err error) bool {
	var (
		unreachable *status.UnreachableError
		denied      *status.DeniedError
		busy        *status.BusyError
		panicked    *PanicError
		corrupt     *release.CorruptRecordError
	)
	return errors.As(err, &unreachable) || errors.As(err, &denied) || errors.As(err, &busy) || errors.As(err, &panicked) || errors.As(err, &corrupt) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// sightings collects what was seen.
type sightings struct {
	prior map[Key]Record

	mu          sync.Mutex
	observation Observation
}

func (s *sightings) answered(cluster, uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observation.UIDs[cluster] = uid
}

func (s *sightings) seen(key Key, record Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observation.Records[key] = record
}

// unseen keeps what was known before.
func (s *sightings) unseen(failure Failure, keys ...Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observation.Failures = append(s.observation.Failures, failure)
	for _, key := range keys {
		s.observation.Records[key] = s.prior[key]
	}
}

// fold says what a record has become, given the newest revision on the cluster.
// NotReady means that its objects have to be looked at.
func fold(prior Record, observed release.Observed, own release.Mark) Record {
	record := prior
	switch {
	case release.DecideRemoval(own, &observed) != release.Uninstall:
		record.State, record.Digest = status.Modified, ""
		record.Message = "the release was taken over by another holder"
	case !observed.Current():
		record.State, record.Digest = status.Modified, ""
		record.Message = status.Message("the newest revision was made outside of Terraform")
	case observed.Status == release.StatusFailed:
		record.State, record.Digest = status.ErrApplied, observed.Mark.Digest
	case observed.Status != release.StatusDeployed:
		record.State, record.Digest = status.WaitApplied, observed.Mark.Digest
		record.Message = status.Message("the last operation was cut short: " + string(observed.Status))
	default:
		record.Digest = observed.Mark.Digest
		if prior.State == status.Modified || prior.State == status.WaitApplied {
			record.State, record.Message = status.NotReady, "" // That is over; whether it is ready has to be seen.
		}
	}
	return record
}
