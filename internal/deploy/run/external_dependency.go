package run

import (
	"context"
	"fmt"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// externalDependency is a bundle of another target that a deployment depends on.
type externalDependency struct {
	run    *clusterRun
	needed rollout.ExternalDependency
	// timeout is how long the releases of the bundle may take to become ready.
	timeout time.Duration
}

func (r *clusterRun) externalDependencyOf(d target.Deployment, needed rollout.ExternalDependency) externalDependency {
	return externalDependency{run: r, needed: needed, timeout: r.request.Settings.TimeoutOf(d)}
}

// check returns why the cluster lacks a bundle of another target that a deployment depends on. It
// requires a release of the same owner, made by another target.
func (o externalDependency) check(ctx context.Context, known []*bundle.Bundle) error {
	leaving := map[string]bool{}
	for _, key := range o.run.remove {
		leaving[release.Key(o.run.request.Prior[key].Namespace, o.run.request.Prior[key].Release)] = true
	}
	found := false
	for _, observed := range o.run.snapshot.snapshot.Of(o.run.request.Owner, o.needed.Bundle) {
		if leaving[release.Key(observed.Namespace, observed.Release)] {
			continue
		}
		found = true
		state, err := o.stateOf(ctx, observed)
		if err != nil {
			return err
		}
		if !o.needed.Accepts(string(state)) {
			return &rollout.HeldError{Reason: fmt.Sprintf("it depends on bundle %s of another target, which is %s", o.needed.Bundle, state)}
		}
	}
	if err := o.run.snapshot.snapshot.CheckComplete(); !found && err != nil {
		return fmt.Errorf("looking for bundle %s of another target, which it depends on: %w", o.needed.Bundle, err)
	}
	if !found {
		return &rollout.MissingDependencyError{Bundle: o.needed.Bundle, Suggestion: rollout.Nearest(o.needed.Bundle, known)}
	}
	return nil
}

// stateOf returns the state of a release of another target, for deployments that depend on it. If
// only Ready is accepted, the release gets time to become ready.
func (o externalDependency) stateOf(ctx context.Context, observed release.Observed) (status.State, error) {
	observation := status.Observation{Release: &observed, Ownership: observed.OwnershipBy(o.run.request.Owner)}
	acceptsNotReady := o.needed.Accepts(string(status.NotReady))
	state, _ := status.DetermineState(observation)
	if state != status.Ready || acceptsNotReady && o.needed.Accepts(string(status.Ready)) {
		return state, nil
	}
	rules := release.Rules{} // Those of its target are not known here.
	var err error
	if acceptsNotReady { // Waiting would only make it ready.
		state, err = o.stateNow(ctx, observation, rules)
	} else {
		state, _, err = stateWhenReady(ctx, o.run.snapshot.cluster, observation, rules, o.timeout)
	}
	if err != nil {
		return "", fmt.Errorf("reading bundle %s, which it depends on: %w", o.needed.Bundle, err)
	}
	return state, nil
}

// stateNow reads the objects of a release once.
func (o externalDependency) stateNow(ctx context.Context, observation status.Observation, rules release.Rules) (status.State, error) {
	findings, err := o.run.runner.inspectAll(ctx, o.run.snapshot.cluster, []release.Inspection{{Observed: *observation.Release, Rules: rules}})
	if err != nil {
		return "", err
	}
	state, _, err := withReadiness(observation, findings[0], nil)
	return state, err
}
