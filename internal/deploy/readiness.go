package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// watch waits until a deployment is ready that is on the cluster and as it should be,
// because another one depends on it.
func (v *visit) watch(ctx context.Context, d target.Deployment) status.State {
	if v.seen.err != nil {
		return status.WaitApplied
	}
	observed := v.seen.snapshot.Find(d.Namespace, d.Release)
	if !isThere(observed) {
		return status.WaitApplied
	}
	if v.untilReady(ctx, *observed, release.RulesOf(d.Options), v.request.Settings.timeout(d)) != nil {
		return status.NotReady
	}
	return status.Ready
}

// follow waits until a deployment is ready that was written without waiting, because
// others wait for it.
func (v *visit) follow(ctx context.Context, d target.Deployment, record Record) status.State {
	observed, err := v.seen.cluster.Release(ctx, record.Namespace, record.Release)
	if err != nil || !isThere(observed) {
		return record.State
	}
	record.State, record.Message = status.Ready, ""
	if err := v.untilReady(ctx, *observed, release.RulesOf(d.Options), v.request.Settings.timeout(d)); err != nil {
		record.State, record.Message = status.NotReady, status.Message(err.Error())
	}
	v.results.succeeded(keyOf(d), record)
	return record.State
}

// untilReady waits for the objects of a release, and says what was missing at the end.
// It holds no slot: next to nothing is asked while nothing happens.
func (v *visit) untilReady(ctx context.Context, observed release.Observed, rules release.Rules, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	finding, err := v.seen.cluster.Await(ctx, release.Inspection{Observed: observed, Rules: rules})
	if err != nil {
		return err
	}
	return readiness(finding)
}

// has says whether the cluster has what a deployment depends on from elsewhere: a
// release of the same owner, made by another target.
func (v *visit) has(ctx context.Context, d target.Deployment, needed release.Outside, known []*bundle.Bundle) error {
	leaving := map[string]bool{}
	for _, key := range v.remove {
		leaving[release.Key(v.request.Prior[key].Namespace, v.request.Prior[key].Release)] = true
	}
	found := false
	for _, observed := range v.seen.snapshot.Of(v.request.Owner, needed.Bundle) {
		if leaving[release.Key(observed.Namespace, observed.Release)] {
			continue
		}
		found = true
		state, err := v.stateFor(ctx, observed, needed, v.request.Settings.timeout(d))
		if err != nil {
			return err
		}
		if !needed.Accepts(string(state)) {
			return &release.HeldError{Reason: fmt.Sprintf("it depends on bundle %s of another target, which is %s", needed.Bundle, state)}
		}
	}
	if !found {
		return &release.MissingDependencyError{Bundle: needed.Bundle, Meant: release.Nearest(needed.Bundle, known)}
	}
	return nil
}

// stateFor is how a release is doing to those that depend on it, after it had the
// time to get ready.
func (v *visit) stateFor(ctx context.Context, observed release.Observed, needed release.Outside, timeout time.Duration) (status.State, error) {
	switch {
	case !observed.Current():
		return status.Modified, nil
	case observed.Status == release.StatusFailed:
		return status.ErrApplied, nil
	case observed.Status != release.StatusDeployed:
		return status.WaitApplied, nil
	case needed.Accepts(string(status.Ready)) && needed.Accepts(string(status.NotReady)):
		return status.Ready, nil
	}
	look := v.untilReady
	if needed.Accepts(string(status.NotReady)) { // Waiting would only make it ready.
		look = func(ctx context.Context, observed release.Observed, rules release.Rules, _ time.Duration) error {
			return v.ready(ctx, observed, rules)
		}
	}
	err := look(ctx, observed, release.Rules{}, timeout) // Those of its target are not known here.
	if notReady := new(notReadyError); errors.As(err, &notReady) {
		return status.NotReady, nil
	}
	if err != nil {
		return "", fmt.Errorf("looking at bundle %s, which it depends on: %w", needed.Bundle, err)
	}
	return status.Ready, nil
}

// notReadyError says why objects that could be looked at are not ready.
type notReadyError struct{ message string }

func (e *notReadyError) Error() string { return e.message }

// ready looks once whether the objects of a release are ready. Another error than a
// *notReadyError says nothing about them.
func (v *visit) ready(ctx context.Context, observed release.Observed, rules release.Rules) error {
	findings, err := v.engine.inspectAll(ctx, v.seen.cluster, []release.Inspection{{Observed: observed, Rules: rules}})
	if err != nil {
		return err
	}
	return readiness(findings[0])
}

// readiness is a *notReadyError if a finding says that objects are not ready.
func readiness(found release.Finding) error {
	if found.Err != nil {
		return found.Err
	}
	if state, message := status.Judge(onlyReadiness(found)); state != status.Ready {
		return &notReadyError{message: message}
	}
	return nil
}
