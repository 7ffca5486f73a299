package run

import (
	"context"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Status returns the current state of wanted deployments of an owner, made by any of its targets.
// Deployments on clusters that cannot be read are missing in the result, and their clusters are
// among its failures.
func (r *Runner) Status(ctx context.Context, owner string, wanted []target.Deployment) deploy.Observation {
	byCluster := map[string][]target.Deployment{}
	for _, d := range wanted {
		byCluster[d.Cluster] = append(byCluster[d.Cluster], d)
	}
	found := newObservationBuilder(nil)
	var looking sync.WaitGroup
	for name, part := range byCluster {
		looking.Go(panics.RecoveringTo(func(err error) { found.leaveOutCluster(name, part, err) }, "reading the cluster", func() {
			r.statusOfCluster(ctx, name, owner, part, found)
		}))
	}
	looking.Wait()
	slices.SortFunc(found.observation.Failures, deploy.Failure.Compare)
	return found.observation
}

func (r *Runner) statusOfCluster(ctx context.Context, name, owner string, wanted []target.Deployment, found *observationBuilder) {
	cluster, snapshot, err := r.snapshot(ctx, name)
	if err != nil {
		found.keepUnreachable(deploy.Failure{Cluster: name, Doing: "reading the cluster", Err: err})
		return
	}
	found.addCluster(name, snapshot, nil)
	look, observations := map[deploy.Key]release.Inspection{}, map[deploy.Key]status.Observation{}
	for _, d := range wanted {
		observed, err := clusterSnapshot{cluster: cluster, snapshot: snapshot}.find(ctx, r, d.Namespace, d.Release)
		if err != nil {
			found.keepUnreachable(deploy.Failure{Cluster: name, Bundle: d.Bundle.Name, Doing: lookingUp, Err: err})
			continue
		}
		observation := observationBy(ctx, cluster, owner, d, observed)
		record := deploy.Record{Release: d.Release, Namespace: d.Namespace, Rules: release.RulesOf(d.Options)}
		record.State, record.Message = status.DetermineState(observation)
		if release.Exists(observed) && observed.IsMarkedBy(owner) {
			if observation.Ownership == release.Self { // Others copy the label to what they write.
				record.Digest = observed.Mark.Digest
			}
			look[deploy.KeyOf(d)] = release.Inspection{Observed: *observed, Rules: record.Rules}
			observations[deploy.KeyOf(d)] = observation
		}
		found.addRelease(deploy.KeyOf(d), record)
	}
	for key, finding := range r.inspect(ctx, cluster, look) {
		found.addStatus(key, observations[key], finding)
	}
}

// observationBy returns what the release record shows about a deployment that an owner wants. Any
// target of the owner may have made the record.
func observationBy(
	ctx context.Context, cluster RecordReader, owner string, d target.Deployment, observed *release.Observed,
) status.Observation {
	o := status.Observation{Release: observed, Wanted: release.NewMark(owner, "", "", "", d.Digest).Digest}
	if !release.Exists(observed) {
		return o
	}
	if o.Ownership = observed.OwnershipBy(owner); o.Ownership == release.OtherTool {
		o.Creator = creatorOf(ctx, cluster, *observed)
	}
	return o
}

// leaveOutCluster leaves out the deployments of a cluster.
func (b *observationBuilder) leaveOutCluster(cluster string, deployments []target.Deployment, err error) {
	b.keepUnreachable(deploy.Failure{Cluster: cluster, Doing: "reading the cluster", Err: err})
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range deployments {
		delete(b.observation.Records, deploy.KeyOf(d))
	}
}

// addStatus adds the state of the objects of a deployment.
func (b *observationBuilder) addStatus(key deploy.Key, observation status.Observation, finding release.Finding) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if finding.Err != nil {
		b.observation.Failures = append(b.observation.Failures, key.Failure("reading the objects", finding.Err))
		delete(b.observation.Records, key)
		return
	}
	record := b.observation.Records[key]
	observation.Objects = &finding
	record.Counts = status.CountsOf(finding)
	record.Chart, record.Version = status.Message(mask.PrintableLine(finding.Chart)), status.Message(mask.PrintableLine(finding.Version))
	record.State, record.Message = status.DetermineState(observation)
	b.observation.Records[key] = record
	b.observation.Findings[key] = finding
}
