package deploy

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Observation is what is known after looking.
type Observation struct {
	// Records holds the deployments that are there, and unchanged those that could not be
	// looked at.
	Records map[Key]Record
	// UIDs maps each cluster that answered to its identity.
	UIDs map[string]string
	// Findings are what the objects of deployments are like that were looked at.
	Findings map[Key]release.Finding
	// Failures has one entry for each cluster that could not be asked, and one
	// for each deployment whose objects could not be looked at.
	Failures []Failure
	// Orphans are releases of the target that its state does not know, sorted by
	// cluster, namespace and name.
	Orphans []Orphan
	// AllSeen reports that every cluster of the state answered, so that Orphans are all.
	AllSeen bool
	// Lost are deployments whose release is not on its cluster any more. Their objects
	// can still be there, and are theirs.
	Lost map[Key]release.Known
}

// Observe looks at the clusters of the given records. Only a cluster that
// answered can make a record disappear.
func (e *Engine) Observe(ctx context.Context, holder Holder, drift Drift, records map[Key]Record) Observation {
	byCluster := map[string][]Key{}
	for key := range records {
		byCluster[key.Cluster] = append(byCluster[key.Cluster], key)
	}
	found := newSightings(records)
	var looking sync.WaitGroup
	for name, keys := range byCluster {
		looking.Go(func() { e.observeCluster(ctx, name, keys, holder, drift, found) })
	}
	looking.Wait()
	orphans, conclusive := holder.orphans(records, found.looked)
	found.observation.AllSeen = conclusive
	found.observation.Orphans = e.readOrphans(ctx, orphans)
	slices.SortFunc(found.observation.Failures, compareFailures)
	return found.observation
}

// observeCluster looks at one cluster: at its release records and, of all deployments
// together, at the objects.
func (e *Engine) observeCluster(ctx context.Context, name string, keys []Key, holder Holder, drift Drift, found *sightings) {
	cluster, snapshot, err := e.look(ctx, name)
	if err != nil {
		found.unseen(Failure{Cluster: name, Doing: "looking at the cluster", Err: err}, keys...)
		return
	}
	keys, err = found.sameCluster(keys, snapshot)
	if err != nil {
		found.unseen(Failure{Cluster: name, Doing: "looking at the cluster", Err: err}, keys...)
		return
	}
	found.answered(name, snapshot)
	look := map[Key]release.Inspection{}
	for _, key := range keys {
		prior := found.prior[key]
		observed := snapshot.Find(prior.Namespace, prior.Release)
		if !isThere(observed) {
			found.lost(key)
			continue
		}
		prior.Known = holder.completed(prior.Known, *observed, snapshot.UID)
		if drift == DriftNone {
			found.seen(key, prior)
			continue
		}
		own := holder.Mark(key.Bundle, prior.Digest, prior.Known)
		record := fold(prior, *observed, own)
		if own.Ownership(*observed) == release.OtherTool {
			record.Message = madeBy(makerOf(ctx, cluster, *observed))
		}
		found.seen(key, record)
		if isInspected(record, drift) {
			look[key] = release.Inspection{Observed: *observed, Rules: record.Rules, Stored: record.Stored}
		}
	}
	found.inspected(e.inspect(ctx, cluster, look), drift)
}

// sightings collects what was seen.
type sightings struct {
	prior map[Key]Record

	mu          sync.Mutex
	looked      map[string]release.Snapshot
	observation Observation
}

func newSightings(prior map[Key]Record) *sightings {
	return &sightings{prior: prior, looked: map[string]release.Snapshot{}, observation: Observation{
		Records: map[Key]Record{}, UIDs: map[string]string{}, Findings: map[Key]release.Finding{}, Lost: map[Key]release.Known{},
	}}
}

// sameCluster returns the deployments that are on the cluster which answered. That another
// cluster lacks a release says nothing about the one that the state knows: it is an
// *OtherClusterError, unless the configuration says that this is the cluster from now on.
func (s *sightings) sameCluster(keys []Key, snapshot release.Snapshot) ([]Key, error) {
	var here []Key
	for _, key := range keys {
		want := s.prior[key].Known.UID
		if want == "" || want == snapshot.UID {
			here = append(here, key)
			continue
		}
		if !snapshot.Confirmed {
			return keys, &OtherClusterError{Cluster: key.Cluster, Want: want, Got: snapshot.UID}
		}
	}
	return here, nil
}

// lost notes a deployment whose release is gone.
func (s *sightings) lost(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.prior[key].Known
	known.Release, known.Namespace = s.prior[key].Release, s.prior[key].Namespace
	s.observation.Lost[key] = known
}

func (s *sightings) answered(cluster string, snapshot release.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked[cluster] = snapshot
	s.observation.UIDs[cluster] = snapshot.UID
}

func (s *sightings) seen(key Key, record Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observation.Records[key] = record
}

// inspected judges deployments by their objects. What could not be looked at stays as
// it was; without live drift nobody need hear of a refusal.
func (s *sightings) inspected(findings map[Key]release.Finding, drift Drift) {
	for key, finding := range findings {
		if finding.Err != nil {
			s.unjudged(key, finding.Err, drift)
			continue
		}
		s.judge(key, finding, drift)
	}
}

func (s *sightings) judge(key Key, finding release.Finding, drift Drift) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case drift == DriftLive:
		s.observation.Findings[key] = finding
		record := s.observation.Records[key]
		if s.prior[key].Known.Instance == "" && record.Known.Instance != "" { // See completed.
			record.Known.Content = finding.Content
		}
		s.observation.Records[key] = record.judged(finding).verified(finding.Content)
	case len(finding.Refused) == 0:
		s.observation.Records[key] = s.observation.Records[key].judged(onlyReadiness(finding))
	default:
		s.observation.Records[key] = s.prior[key]
	}
}

// unjudged keeps what was known of a deployment whose objects could not be looked at.
func (s *sightings) unjudged(key Key, err error, drift Drift) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.observation.Records[key].State == status.NotReady {
		s.observation.Records[key] = s.prior[key]
	}
	if denied := new(status.DeniedError); drift != DriftLive && errors.As(err, &denied) {
		return
	}
	s.observation.Failures = append(s.observation.Failures, Failure{Cluster: key.Cluster, Bundle: key.Bundle, Doing: "looking at the objects", Err: err})
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

// completed adds what a state of an earlier version of the provider lacks, as the record
// has it: one with the owner and the id, or the name, of this target. Beside an import,
// nothing else takes it from there.
func (h Holder) completed(known release.Known, observed release.Observed, uid string) release.Known {
	known.Release, known.Namespace = observed.Release, observed.Namespace
	if known.UID == "" {
		known.UID = uid
	}
	if own := h.mark("", ""); known.Instance == "" && (own.Ownership(observed) == release.Self || own.Ownership(observed) == release.SameName) {
		known.Instance, known.Terms = observed.Mark.Instance, observed.Mark.Terms
		known.Digest = cmp.Or(known.Digest, observed.Mark.Digest)
	}
	return known
}

// verified reports a release record that is not the one which this target wrote. Whoever
// may write Secrets in the namespace may change it. One of another digest is no surprise:
// an apply that was killed made it.
func (r Record) verified(content string) Record {
	if content == "" || r.Known.Content == "" || r.Known.Trusts(content) || r.Digest != r.Known.Digest {
		return r
	}
	r.State, r.Digest, r.Message = status.Modified, "", "the release record was changed, its hooks will not be run"
	return r
}

// madeBy is the message of a deployment whose newest revision is not this provider's.
func madeBy(maker release.Maker) string {
	return status.Message("the newest revision was made by " + cmp.Or(maker.Name, "another tool"))
}

// fold says what a record has become, given the newest revision on the cluster.
// NotReady means that its objects have to be looked at.
func fold(prior Record, observed release.Observed, own release.Mark) Record {
	record := prior
	switch ownership := own.Ownership(observed); {
	case ownership == release.OtherTool:
		record.State, record.Digest, record.Counts = status.Modified, "", prior.Counts.Unseen()
		record.Message = madeBy(release.Maker{})
	case ownership != release.Self:
		record.State, record.Digest, record.Counts = status.Modified, "", prior.Counts.Unseen()
		record.Message = "the release was taken over by another holder"
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

// Snapshots looks at clusters. Those that cannot be asked are missing in the answer.
func (e *Engine) Snapshots(ctx context.Context, clusters []string) map[string]release.Snapshot {
	return ask(clusters, func(name string) (release.Snapshot, error) {
		_, snapshot, err := e.look(ctx, name)
		return snapshot, err
	})
}

// ask asks clusters at once. Those that cannot be asked are missing in the answer.
func ask[T any](clusters []string, one func(name string) (T, error)) map[string]T {
	var (
		mu     sync.Mutex
		asking sync.WaitGroup
	)
	found := map[string]T{}
	for _, name := range clusters {
		asking.Go(func() {
			answer, err := one(name)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			found[name] = answer
		})
	}
	asking.Wait()
	return found
}
