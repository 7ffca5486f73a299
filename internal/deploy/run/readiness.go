package run

import (
	"context"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// watch waits until a deployment is ready, because another one depends on it. The deployment is on
// the cluster and as it should be.
func (r *clusterRun) watch(ctx context.Context, d target.Deployment) status.State {
	if r.snapshot.err != nil {
		return status.WaitApplied
	}
	observed, err := r.snapshot.find(ctx, r.runner, d.Namespace, d.Release)
	if err != nil {
		return status.NotReady // It was not found to be ready.
	}
	observation := status.Observation{Release: observed}
	if observation.Release != nil {
		observation.Ownership = r.known().ownership(*observation.Release)
	}
	state, _, err := stateWhenReady(ctx, r.snapshot.cluster, observation, release.RulesOf(d.Options), r.request.Settings.TimeoutOf(d))
	if err != nil {
		return status.NotReady // It was not found to be ready.
	}
	return state
}

// follow waits until a deployment that was written without waiting is ready, because other
// deployments wait for it.
func (r *clusterRun) follow(ctx context.Context, d target.Deployment, record deploy.Record) status.State {
	observed, err := r.snapshot.cluster.Release(ctx, record.Namespace, record.Release)
	if err != nil || !release.Exists(observed) {
		return record.State
	}
	claimant := r.request.Claimant("", "", r.snapshot.snapshot.UID, &record.Known)
	observation := status.Observation{Release: observed, Ownership: claimant.Ownership(*observed)}
	timeout := r.request.Settings.TimeoutOf(d)
	record.State, record.Message, err = stateWhenReady(ctx, r.snapshot.cluster, observation, release.RulesOf(d.Options), timeout)
	if err != nil {
		record.State, record.Message = status.NotReady, status.Message(err.Error())
	}
	r.results.addSucceeded(deploy.KeyOf(d), record)
	return record.State
}

// stateWhenReady returns the state of a deployment after its objects had time to become ready.
// With an error the state is not known. The wait needs no slot, because it sends almost no
// requests while nothing changes.
func stateWhenReady(
	ctx context.Context, cluster Awaiter, observation status.Observation, rules release.Rules, timeout time.Duration,
) (status.State, string, error) {
	if state, message := status.DetermineState(observation); state != status.Ready {
		return state, message, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	finding, err := cluster.Await(ctx, release.Inspection{Observed: *observation.Release, Rules: rules})
	return withReadiness(observation, finding, err)
}

// withReadiness adds the readiness of the objects to an observation, and returns the state.
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
