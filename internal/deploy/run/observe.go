package run

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Observe reads the clusters of the given records. Only a cluster that responded can make a record
// disappear.
func (r *Runner) Observe(
	ctx context.Context, identity deploy.TargetIdentity, drift deploy.Drift, records map[deploy.Key]deploy.Record,
) deploy.Observation {
	byCluster := map[string][]deploy.Key{}
	for key := range records {
		byCluster[key.Cluster] = append(byCluster[key.Cluster], key)
	}
	found := newObservationBuilder(records)
	var looking sync.WaitGroup
	for name, keys := range byCluster {
		looking.Go(panics.RecoveringTo(func(err error) {
			found.keepUnreachable(deploy.Failure{Cluster: name, Doing: "reading the cluster", Err: err}, keys...)
		}, "reading the cluster", func() { r.observeCluster(ctx, name, keys, identity, drift, found) }))
	}
	looking.Wait()
	orphaned, conclusive := orphans(records, found.observation.UIDs, found.unstored)
	found.observation.AllSeen = conclusive && !found.isIncomplete
	found.observation.Orphans = r.readOrphans(ctx, orphaned)
	slices.SortFunc(found.observation.Failures, deploy.Failure.Compare)
	return found.observation
}

// observeCluster reads one cluster: its release records, and the objects of all deployments
// together.
func (r *Runner) observeCluster(
	ctx context.Context, name string, keys []deploy.Key, identity deploy.TargetIdentity, drift deploy.Drift, found *observationBuilder,
) {
	cluster, snapshot, err := r.snapshot(ctx, name)
	if err != nil {
		found.keepUnreachable(deploy.Failure{Cluster: name, Doing: "reading the cluster", Err: err}, keys...)
		return
	}
	keys, err = found.recordsOnCluster(keys, snapshot)
	if err != nil {
		found.keepUnreachable(deploy.Failure{Cluster: name, Doing: "reading the cluster", Err: err}, keys...)
		return
	}
	found.addCluster(name, snapshot, unstored(identity, found.stored, snapshot))
	look, observations := map[deploy.Key]release.Inspection{}, map[deploy.Key]status.Observation{}
	var unlisted []deploy.Key
	for _, key := range keys {
		prior := found.prior[key]
		observed, err := clusterSnapshot{cluster: cluster, snapshot: snapshot}.find(ctx, r, prior.Namespace, prior.Release)
		if err != nil {
			found.keepUnreachable(deploy.Failure{Cluster: name, Bundle: key.Bundle, Doing: lookingUp, Err: err}, key)
			continue
		}
		if observed == nil {
			unlisted = append(unlisted, key)
			continue
		}
		if !release.Exists(observed) {
			found.addMissing(key)
			continue
		}
		known := prior.Current()
		claimant := identity.Claimant("", "", snapshot.UID, &known)
		prior.Known = seenBy(claimant, *observed)
		if drift == deploy.DriftNone {
			found.addRelease(key, prior)
			continue
		}
		observation := prior.Observation(*observed, claimant.Ownership(*observed))
		observation.RecordChanged = claimant.IsForged(*observed)
		if observation.Ownership == release.OtherTool {
			observation.Creator = creatorOf(ctx, cluster, *observed)
		}
		record := prior.After(observation)
		found.addRelease(key, record)
		if needsInspection(record, drift) {
			proof, _ := claimant.ProofOf(*observed)
			look[key] = release.Inspection{Observed: *observed, Rules: record.Rules, Accepted: record.Accepted, Proof: proof}
			observations[key] = observation
		}
	}
	r.findUnlisted(ctx, cluster, unlisted, found)
	found.addFindings(r.inspect(ctx, cluster, look), observations, drift)
}

// observationBuilder collects the results.
type observationBuilder struct {
	prior  map[deploy.Key]deploy.Record
	stored map[releaseID]bool

	mu sync.Mutex
	// unstored maps clusters to releases of the target that are not stored.
	unstored map[string][]release.Observed
	// isIncomplete reports that the releases of a namespace are not known.
	isIncomplete bool
	observation  deploy.Observation
}

func newObservationBuilder(prior map[deploy.Key]deploy.Record) *observationBuilder {
	return &observationBuilder{
		prior: prior, stored: stored(prior), unstored: map[string][]release.Observed{}, observation: deploy.NewObservation(),
	}
}

// recordsOnCluster returns the deployments whose cluster in state is the one that responded. A
// release that another cluster lacks can still exist on its own cluster. So another cluster is an
// *OtherClusterError, unless the configuration names its UID.
func (b *observationBuilder) recordsOnCluster(keys []deploy.Key, snapshot release.Snapshot) ([]deploy.Key, error) {
	var here []deploy.Key
	for _, key := range keys {
		want := b.prior[key].Known.UID
		if want == "" || want == snapshot.UID {
			here = append(here, key)
			continue
		}
		if !snapshot.Confirmed {
			return keys, &deploy.OtherClusterError{Cluster: key.Cluster, Want: want, Got: snapshot.UID}
		}
	}
	return here, nil
}

// addMissing notes a deployment whose release no longer exists.
func (b *observationBuilder) addMissing(key deploy.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.observation.Missing[key] = b.prior[key].Current()
}

func (b *observationBuilder) addCluster(cluster string, snapshot release.Snapshot, unstored []release.Observed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unstored[cluster] = unstored
	b.observation.UIDs[cluster] = snapshot.UID
	b.isIncomplete = b.isIncomplete || snapshot.CheckListed() != nil
	if len(snapshot.Namespaces) > 0 {
		b.observation.Listed[cluster] = snapshot.Namespaces
	}
}

func (b *observationBuilder) addRelease(key deploy.Key, record deploy.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.observation.Records[key] = record
}

// addFindings sets the states of deployments by their objects. A deployment whose objects could
// not be read stays as it was. Without live drift, a denied request is not reported.
func (b *observationBuilder) addFindings(
	findings map[deploy.Key]release.Finding, observations map[deploy.Key]status.Observation, drift deploy.Drift,
) {
	for key, finding := range findings {
		if finding.Err != nil {
			b.keepUninspected(key, finding.Err, drift)
			continue
		}
		b.addFinding(key, observations[key], finding, drift)
	}
}

func (b *observationBuilder) addFinding(key deploy.Key, observation status.Observation, finding release.Finding, drift deploy.Drift) {
	b.mu.Lock()
	defer b.mu.Unlock()
	finding.HidesNames = b.prior[key].HidesNames
	switch {
	case drift == deploy.DriftLive:
		b.observation.Findings[key] = finding
		observation.Objects, observation.RecordChanged = &finding, finding.RecordChanged
		b.observation.Records[key] = b.observation.Records[key].After(observation)
	case len(finding.Refused) == 0:
		only := status.OnlyReadiness(finding)
		observation.Objects = &only
		b.observation.Records[key] = b.observation.Records[key].After(observation)
	default:
		b.observation.Records[key] = b.prior[key]
	}
}

// keepUninspected keeps the record of a deployment whose objects could not be read.
func (b *observationBuilder) keepUninspected(key deploy.Key, err error, drift deploy.Drift) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.observation.Records[key].State == status.NotReady {
		b.observation.Records[key] = b.prior[key]
	}
	if denied := new(status.DeniedError); drift != deploy.DriftLive && errors.As(err, &denied) {
		return
	}
	b.observation.Failures = append(b.observation.Failures, key.Failure("reading the objects", err))
}

// keepUnreachable keeps the records from before.
func (b *observationBuilder) keepUnreachable(failure deploy.Failure, keys ...deploy.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.observation.Failures = append(b.observation.Failures, failure)
	for _, key := range keys {
		b.observation.Records[key] = b.prior[key]
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
