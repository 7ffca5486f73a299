package deploy

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Observation is the result of reading clusters.
type Observation struct {
	// Records contains the existing deployments. Those that could not be read are in it unchanged.
	Records map[Key]Record
	// UIDs maps each cluster that responded to its identity.
	UIDs map[string]string
	// Findings describe the objects of deployments, where they were read.
	Findings map[Key]release.Finding
	// Failures has one entry for each cluster that could not be read, and one for each deployment
	// whose objects could not be read.
	Failures []Failure
	// Orphans are releases of the target that its state does not have, sorted by cluster,
	// namespace and name.
	Orphans []Orphan
	// AllSeen reports that every cluster of the state responded with all releases that were listed, so
	// that Orphans is complete for the namespaces of Listed.
	AllSeen bool
	// Listed maps clusters to the namespaces whose releases were listed. It lacks clusters on which all
	// releases were listed.
	Listed map[string][]string
	// Lost are deployments whose release no longer exists on its cluster. Their objects can still
	// exist, and belong to them.
	Lost map[Key]release.Known
}

// Observe reads the clusters of the given records. Only a cluster that responded can make a record
// disappear.
func (e *Engine) Observe(ctx context.Context, identity TargetIdentity, drift Drift, records map[Key]Record) Observation {
	byCluster := map[string][]Key{}
	for key := range records {
		byCluster[key.Cluster] = append(byCluster[key.Cluster], key)
	}
	found := newObservationBuilder(records)
	var looking sync.WaitGroup
	for name, keys := range byCluster {
		looking.Go(panics.RecoveringTo(func(err error) {
			found.keepUnreachable(Failure{Cluster: name, Doing: "reading the cluster", Err: err}, keys...)
		}, "reading the cluster", func() { e.observeCluster(ctx, name, keys, identity, drift, found) }))
	}
	looking.Wait()
	orphaned, conclusive := orphans(records, found.observation.UIDs, found.unstored)
	found.observation.AllSeen = conclusive && !found.isIncomplete
	found.observation.Orphans = e.readOrphans(ctx, orphaned)
	slices.SortFunc(found.observation.Failures, Failure.Compare)
	return found.observation
}

// observeCluster reads one cluster: its release records, and the objects of all deployments
// together.
func (e *Engine) observeCluster(ctx context.Context, name string, keys []Key, identity TargetIdentity, drift Drift, found *observationBuilder) {
	cluster, snapshot, err := e.snapshot(ctx, name)
	if err != nil {
		found.keepUnreachable(Failure{Cluster: name, Doing: "reading the cluster", Err: err}, keys...)
		return
	}
	keys, err = found.recordsOnCluster(keys, snapshot)
	if err != nil {
		found.keepUnreachable(Failure{Cluster: name, Doing: "reading the cluster", Err: err}, keys...)
		return
	}
	found.addCluster(name, snapshot, unstored(identity, found.stored, snapshot))
	look, observations := map[Key]release.Inspection{}, map[Key]status.Observation{}
	var unlisted []Key
	for _, key := range keys {
		prior := found.prior[key]
		observed, err := clusterSnapshot{cluster: cluster, snapshot: snapshot}.find(ctx, e, prior.Namespace, prior.Release)
		if err != nil {
			found.keepUnreachable(Failure{Cluster: name, Bundle: key.Bundle, Doing: lookingUp, Err: err}, key)
			continue
		}
		if observed == nil {
			unlisted = append(unlisted, key)
			continue
		}
		if !release.Exists(observed) {
			found.addLost(key)
			continue
		}
		known := prior.current()
		claimant := identity.claimant("", "", snapshot.UID, &known)
		prior.Known = seenBy(claimant, *observed)
		if drift == DriftNone {
			found.addRelease(key, prior)
			continue
		}
		observation := prior.observation(*observed, claimant.Ownership(*observed))
		observation.RecordChanged = claimant.IsForged(*observed)
		if observation.Ownership == release.OtherTool {
			observation.Creator = creatorOf(ctx, cluster, *observed)
		}
		record := prior.after(observation)
		found.addRelease(key, record)
		if needsInspection(record, drift) {
			proof, _ := claimant.ProofOf(*observed)
			look[key] = release.Inspection{Observed: *observed, Rules: record.Rules, Stored: record.Stored, Proof: proof}
			observations[key] = observation
		}
	}
	e.findUnlisted(ctx, cluster, unlisted, found)
	found.addFindings(e.inspect(ctx, cluster, look), observations, drift)
}

// observationBuilder collects the results.
type observationBuilder struct {
	prior  map[Key]Record
	stored map[releaseID]bool

	mu sync.Mutex
	// unstored maps clusters to releases of the target that are not stored.
	unstored map[string][]release.Observed
	// isIncomplete reports that the releases of a namespace are not known.
	isIncomplete bool
	observation  Observation
}

func newObservationBuilder(prior map[Key]Record) *observationBuilder {
	return &observationBuilder{prior: prior, stored: stored(prior), unstored: map[string][]release.Observed{}, observation: Observation{
		Records: map[Key]Record{}, UIDs: map[string]string{}, Findings: map[Key]release.Finding{}, Lost: map[Key]release.Known{},
		Listed: map[string][]string{},
	}}
}

// recordsOnCluster returns the deployments whose cluster in state is the one that responded. A
// release that another cluster lacks can still exist on its own cluster. So another cluster is an
// *OtherClusterError, unless the configuration names its UID.
func (s *observationBuilder) recordsOnCluster(keys []Key, snapshot release.Snapshot) ([]Key, error) {
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

// addLost notes a deployment whose release no longer exists.
func (s *observationBuilder) addLost(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.prior[key].Known
	known.Release, known.Namespace = s.prior[key].Release, s.prior[key].Namespace
	s.observation.Lost[key] = known
}

func (s *observationBuilder) addCluster(cluster string, snapshot release.Snapshot, unstored []release.Observed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unstored[cluster] = unstored
	s.observation.UIDs[cluster] = snapshot.UID
	s.isIncomplete = s.isIncomplete || snapshot.CheckListed() != nil
	if len(snapshot.Namespaces) > 0 {
		s.observation.Listed[cluster] = snapshot.Namespaces
	}
}

func (s *observationBuilder) addRelease(key Key, record Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observation.Records[key] = record
}

// addFindings sets the states of deployments by their objects. A deployment whose objects could
// not be read stays as it was. Without live drift, a denied request is not reported.
func (s *observationBuilder) addFindings(findings map[Key]release.Finding, observations map[Key]status.Observation, drift Drift) {
	for key, finding := range findings {
		if finding.Err != nil {
			s.keepUninspected(key, finding.Err, drift)
			continue
		}
		s.addFinding(key, observations[key], finding, drift)
	}
}

func (s *observationBuilder) addFinding(key Key, observation status.Observation, finding release.Finding, drift Drift) {
	s.mu.Lock()
	defer s.mu.Unlock()
	finding.HidesNames = s.prior[key].HidesNames
	switch {
	case drift == DriftLive:
		s.observation.Findings[key] = finding
		observation.Objects, observation.RecordChanged = &finding, finding.RecordChanged
		s.observation.Records[key] = s.observation.Records[key].after(observation)
	case len(finding.Refused) == 0:
		only := status.OnlyReadiness(finding)
		observation.Objects = &only
		s.observation.Records[key] = s.observation.Records[key].after(observation)
	default:
		s.observation.Records[key] = s.prior[key]
	}
}

// keepUninspected keeps the record of a deployment whose objects could not be read.
func (s *observationBuilder) keepUninspected(key Key, err error, drift Drift) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.observation.Records[key].State == status.NotReady {
		s.observation.Records[key] = s.prior[key]
	}
	if denied := new(status.DeniedError); drift != DriftLive && errors.As(err, &denied) {
		return
	}
	s.observation.Failures = append(s.observation.Failures, Failure{Cluster: key.Cluster, Bundle: key.Bundle, Doing: "reading the objects", Err: err})
}

// keepUnreachable keeps the records from before.
func (s *observationBuilder) keepUnreachable(failure Failure, keys ...Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observation.Failures = append(s.observation.Failures, failure)
	for _, key := range keys {
		s.observation.Records[key] = s.prior[key]
	}
}

// seenBy returns what state is to have of a release that was read: its newest revision, if the
// target wrote it.
func seenBy(claimant release.Claimant, observed release.Observed) release.Known {
	known := *claimant.Known
	if claimant.Trusts(observed) {
		known.Revision = observed.Revision
	}
	return known
}

// Snapshots lists the releases of clusters. Clusters that cannot be read are missing in the
// result.
func (e *Engine) Snapshots(ctx context.Context, clusters []string) map[string]release.Snapshot {
	return queryClusters(clusters, func(name string) (release.Snapshot, error) {
		_, snapshot, err := e.snapshot(ctx, name)
		return snapshot, err
	})
}

// queryClusters queries clusters at once. Clusters that cannot be read are missing in the result.
func queryClusters[T any](clusters []string, one func(name string) (T, error)) map[string]T {
	var (
		mu     sync.Mutex
		asking sync.WaitGroup
	)
	found := map[string]T{}
	for _, name := range clusters {
		asking.Go(func() {
			var answer T
			if err := panics.Recovering("reading the cluster", func() (err error) {
				answer, err = one(name)
				return err
			})(); err != nil {
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
