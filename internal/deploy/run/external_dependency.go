package run

import (
	"context"
	"fmt"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// externalDependency is a bundle of another target that a deployment depends on.
type externalDependency struct {
	run    *clusterRun
	needed rollout.ExternalDependency
	// timeout is how long the releases of the bundle may take to become ready.
	timeout time.Duration
}

// check returns why the cluster lacks a bundle of another target that a deployment depends on. It
// requires a release of the same owner, made by another target.
func (d externalDependency) check(ctx context.Context, known []*bundle.Bundle) error {
	leaving := map[string]bool{}
	for _, key := range d.run.remove {
		leaving[release.Key(d.run.request.Prior[key].Namespace, d.run.request.Prior[key].Release)] = true
	}
	found := false
	for _, observed := range d.run.snapshot.snapshot.Of(d.run.request.Owner, d.needed.Bundle) {
		if leaving[release.Key(observed.Namespace, observed.Release)] {
			continue
		}
		found = true
		state, err := d.stateOf(ctx, observed)
		if err != nil {
			return err
		}
		if !d.needed.Accepts(string(state)) {
			return &rollout.HeldError{Reason: fmt.Sprintf("it depends on bundle %s of another target, which is %s", d.needed.Bundle, state)}
		}
	}
	if err := d.run.snapshot.snapshot.CheckComplete(); !found && err != nil {
		return fmt.Errorf("looking for bundle %s of another target, which it depends on: %w", d.needed.Bundle, err)
	}
	if !found {
		return &rollout.MissingDependencyError{Bundle: d.needed.Bundle, Suggestion: rollout.Nearest(d.needed.Bundle, known)}
	}
	return nil
}

// stateOf returns the state of a release of another target, for deployments that depend on it. If
// only Ready is accepted, the release gets time to become ready.
func (d externalDependency) stateOf(ctx context.Context, observed release.Observed) (status.State, error) {
	observation := status.Observation{Release: &observed, Ownership: observed.OwnershipBy(d.run.request.Owner)}
	acceptsNotReady := d.needed.Accepts(string(status.NotReady))
	state, _ := status.DetermineState(observation)
	if state != status.Ready || acceptsNotReady && d.needed.Accepts(string(status.Ready)) {
		return state, nil
	}
	rules := release.Rules{} // Those of its target are not known here.
	var err error
	if acceptsNotReady { // Waiting would only make it ready.
		state, err = d.stateNow(ctx, observation, rules)
	} else {
		state, _, err = stateWhenReady(ctx, d.run.snapshot.cluster, observation, rules, d.timeout)
	}
	if err != nil {
		return "", fmt.Errorf("reading bundle %s, which it depends on: %w", d.needed.Bundle, err)
	}
	return state, nil
}

// stateNow reads the objects of a release once.
func (d externalDependency) stateNow(ctx context.Context, observation status.Observation, rules release.Rules) (status.State, error) {
	findings, err := d.run.runner.inspectAll(ctx, d.run.snapshot.cluster, []release.Inspection{{Observed: *observation.Release, Rules: rules}})
	if err != nil {
		return "", err
	}
	state, _, err := withReadiness(observation, findings[0], nil)
	return state, err
}
