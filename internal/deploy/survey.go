package deploy

import (
	"context"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Survey says how wanted deployments of an owner are doing now, whichever target has
// made them. Those on clusters that cannot be asked are missing in the answer, and
// their clusters are among its failures.
func (e *Engine) Survey(ctx context.Context, owner string, wanted []target.Deployment) Observation {
	byCluster := map[string][]target.Deployment{}
	for _, d := range wanted {
		byCluster[d.Cluster] = append(byCluster[d.Cluster], d)
	}
	found := newSightings(nil)
	var looking sync.WaitGroup
	for name, part := range byCluster {
		looking.Go(func() { e.surveyCluster(ctx, name, owner, part, found) })
	}
	looking.Wait()
	slices.SortFunc(found.observation.Failures, compareFailures)
	return found.observation
}

func (e *Engine) surveyCluster(ctx context.Context, name, owner string, wanted []target.Deployment, found *sightings) {
	cluster, snapshot, err := e.look(ctx, name)
	if err != nil {
		found.unseen(Failure{Cluster: name, Doing: "looking at the cluster", Err: err})
		return
	}
	found.answered(name, snapshot)
	look := map[Key]release.Inspection{}
	for _, d := range wanted {
		observed := snapshot.Find(d.Namespace, d.Release)
		record := standing(owner, d, observed)
		found.seen(keyOf(d), record)
		if record.Digest != "" {
			look[keyOf(d)] = release.Inspection{Observed: *observed, Rules: record.Rules}
		}
	}
	for key, finding := range e.inspect(ctx, cluster, look) {
		found.surveyed(key, finding)
	}
}

// standing says how a deployment is doing as far as its release record tells. One that
// is not the owner's has no digest.
func standing(owner string, d target.Deployment, observed *release.Observed) Record {
	record := Record{Release: d.Release, Namespace: d.Namespace, Rules: release.RulesOf(d.Options)}
	if !isThere(observed) {
		record.State, record.Message = status.Pending, "it is not deployed"
		return record
	}
	mark := release.NewMark(owner, "", "", "", d.Digest)
	if observed.Mark.Owner != mark.Owner {
		record.State, record.Message = status.Modified, "the release belongs to somebody else"
		return record
	}
	record.Digest = observed.Mark.Digest
	switch {
	case observed.Status == release.StatusFailed:
		record.State, record.Message = status.ErrApplied, "the last operation failed"
	case observed.Status != release.StatusDeployed:
		record.State, record.Message = status.WaitApplied, "the last operation was cut short: "+string(observed.Status)
	case !observed.Current():
		record.State, record.Message = status.Modified, "the newest revision was made outside of Terraform"
	case observed.Mark.Digest != mark.Digest:
		record.State, record.Message = status.OutOfSync, "something else is deployed than is wanted"
	default:
		record.State = status.Ready
	}
	return record
}

// surveyed adds what the objects of a deployment are like. What is not ready comes
// before what is not in sync, and that before what was modified.
func (s *sightings) surveyed(key Key, finding release.Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if finding.Err != nil {
		s.observation.Failures = append(s.observation.Failures, Failure{Cluster: key.Cluster, Bundle: key.Bundle, Doing: "looking at the objects", Err: finding.Err})
		delete(s.observation.Records, key)
		return
	}
	record := s.observation.Records[key]
	record.Counts = status.CountsOf(finding)
	state, message := status.Judge(finding)
	isNotReady := record.State == status.OutOfSync && state == status.NotReady
	if record.State == status.Ready || isNotReady {
		record.State, record.Message = state, message
	}
	s.observation.Records[key] = record
	s.observation.Findings[key] = finding
}
