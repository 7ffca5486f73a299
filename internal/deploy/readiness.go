package deploy

import (
	"context"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// watch waits until a deployment is ready that is on the cluster and as it should be,
// because another one depends on it.
func (r *clusterRun) watch(ctx context.Context, d target.Deployment) status.State {
	if r.snapshot.err != nil {
		return status.WaitApplied
	}
	observation := status.Observation{Release: r.snapshot.snapshot.Find(d.Namespace, d.Release)}
	if observation.Release != nil {
		observation.Ownership = r.known().ownership(*observation.Release)
	}
	state, _, err := stateWhenReady(ctx, r.snapshot.cluster, observation, release.RulesOf(d.Options), r.request.Settings.timeout(d))
	if err != nil {
		return status.NotReady // Nobody has seen that it is ready.
	}
	return state
}

// follow waits until a deployment is ready that was written without waiting, because
// others wait for it.
func (r *clusterRun) follow(ctx context.Context, d target.Deployment, record Record) status.State {
	observed, err := r.snapshot.cluster.Release(ctx, record.Namespace, record.Release)
	if err != nil || !release.Exists(observed) {
		return record.State
	}
	observation := status.Observation{Release: observed, Ownership: r.request.ownership(*observed, record.Known)}
	record.State, record.Message, err = stateWhenReady(ctx, r.snapshot.cluster, observation, release.RulesOf(d.Options), r.request.Settings.timeout(d))
	if err != nil {
		record.State, record.Message = status.NotReady, status.Message(err.Error())
	}
	r.results.addSucceeded(KeyOf(d), record)
	return record.State
}

// stateWhenReady is the state of a deployment after its objects had the time to get ready. An
// error says nothing about it. It holds no slot: next to nothing is asked while nothing
// happens.
func stateWhenReady(ctx context.Context, cluster Awaiter, observation status.Observation, rules release.Rules, timeout time.Duration) (status.State, string, error) {
	if state, message := status.DetermineState(observation); state != status.Ready {
		return state, message, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	finding, err := cluster.Await(ctx, release.Inspection{Observed: *observation.Release, Rules: rules})
	return withReadiness(observation, finding, err)
}

// withReadiness adds to an observation whether its objects are ready.
func withReadiness(observation status.Observation, finding release.Finding, err error) (status.State, string, error) {
	if err == nil {
		err = finding.Err
	}
	if err != nil {
		return "", "", err
	}
	only := status.OnlyReadiness(finding)
	observation.Objects = &only
	state, message := status.DetermineState(observation)
	return state, message, nil
}
