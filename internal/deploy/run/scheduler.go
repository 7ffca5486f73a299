package run

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// scheduler writes the deployments of a request, each when the order permits it.
type scheduler struct {
	runs    map[string]*clusterRun
	steps   []rollout.Step
	bundles []*bundle.Bundle
	// progress reports what is started and what has ended.
	progress *applyProgress
	running  sync.WaitGroup

	mu      sync.Mutex
	order   *rollout.Order
	started []bool
}

// schedule writes what a request wants and returns when all writes have ended.
func schedule(ctx context.Context, request Request, runs map[string]*clusterRun, progress *applyProgress) {
	steps := request.steps()
	c := &scheduler{runs: runs, steps: steps, progress: progress, order: rollout.NewOrder(steps), started: make([]bool, len(steps))}
	seen := map[*bundle.Bundle]bool{}
	for _, step := range steps {
		if b := step.Deployment.Bundle; !seen[b] {
			seen[b] = true
			c.bundles = append(c.bundles, b)
		}
	}
	for i := range steps {
		if err := c.order.Held(i); err != nil {
			c.hold(ctx, i, err)
		}
	}
	c.advance(ctx)
	c.running.Wait()
	// Plans with steps that wait for each other are refused, so this finds none.
	for i, step := range steps {
		if step.Change && !c.started[i] {
			c.hold(ctx, i, errors.New("no deployment that it waits for continues"))
		}
	}
	c.running.Wait()
}

// advance starts the deployments that can begin now.
func (s *scheduler) advance(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	begin, held := s.order.Next()
	for _, i := range held {
		s.hold(ctx, i, s.order.Held(i))
	}
	for _, i := range begin {
		s.started[i] = true
		if s.steps[i].Change {
			s.progress.startStage(deploy.KeyOf(s.steps[i].Deployment))
		}
		s.running.Go(panics.RecoveringTo(func(err error) { s.reportPanic(i, err) }, "ordering deployments", func() {
			state := s.runStep(ctx, i)
			if s.steps[i].Change {
				s.progress.end(deploy.KeyOf(s.steps[i].Deployment))
			}
			s.end(i, state)
			s.advance(ctx)
		}))
	}
}

func (s *scheduler) end(i int, state status.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order.Finish(i, string(state))
}

func (s *scheduler) isAwaited(i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.order.Awaited(i)
}

// hold reports a deployment that is not begun. A deployment that the plan already held is not
// reported again.
func (s *scheduler) hold(ctx context.Context, i int, err error) {
	s.started[i] = true
	step := s.steps[i]
	if step.Held != nil || !step.Change {
		return
	}
	s.running.Go(panics.RecoveringTo(func(err error) { s.reportPanic(i, err) }, "deploying", func() {
		v := s.runs[step.Deployment.Cluster]
		defer v.writes.Done()
		defer s.progress.end(deploy.KeyOf(step.Deployment))
		<-v.snapshotTaken
		switch {
		case v.snapshot.err != nil:
			v.results.addUntouched(deploy.KeyOf(step.Deployment), "reading the cluster before deploying", v.snapshot.err)
		case ctx.Err() != nil:
			v.results.addUntouched(deploy.KeyOf(step.Deployment), "deploying", fmt.Errorf("not started: %w", ctx.Err()))
		default:
			v.results.addHeld(deploy.KeyOf(step.Deployment), "deploying", err)
		}
	}))
}

// reportPanic reports a panic outside the work on a deployment. Deployments that would begin after
// it are reported as held when no deployment continues.
func (s *scheduler) reportPanic(i int, err error) {
	d := s.steps[i].Deployment
	s.runs[d.Cluster].results.addFailed(deploy.KeyOf(d), "deploying", err, nil)
}

// runStep carries out one step and returns the state of its deployment. A panic fails only this
// deployment.
func (s *scheduler) runStep(ctx context.Context, i int) (state status.State) {
	d := s.steps[i].Deployment
	if err := panics.Recovering(recoverTo("deploying", d.Namespace, d.Release), func() error {
		state = s.write(ctx, i)
		return nil
	})(); err != nil {
		s.runs[d.Cluster].writeOf(d).failWithPanic(err)
		return status.ErrApplied
	}
	return state
}

func (s *scheduler) write(ctx context.Context, i int) status.State {
	d := s.steps[i].Deployment
	v := s.runs[d.Cluster]
	<-v.snapshotTaken
	if !s.steps[i].Change {
		return v.watch(ctx, d)
	}
	defer v.writes.Done()
	if v.snapshot.err != nil {
		v.results.addUntouched(deploy.KeyOf(d), "reading the cluster before deploying", v.snapshot.err)
		return status.WaitApplied
	}
	if err := v.request.Blocked[deploy.KeyOf(d)]; err != nil {
		v.results.addUntouched(deploy.KeyOf(d), "deploying", err)
		return status.ErrApplied
	}
	for _, needed := range s.order.ExternalDependencies(i) {
		dependency := externalDependency{run: v, needed: needed, timeout: v.request.Settings.TimeoutOf(d)}
		if err := dependency.check(ctx, s.bundles); err != nil {
			v.results.addUntouched(deploy.KeyOf(d), "deploying", err)
			return status.ErrApplied
		}
	}
	record := v.writeOf(d).deploy(ctx)
	if record == nil {
		return status.ErrApplied
	}
	if record.State == status.NotReady && s.isAwaited(i) {
		return v.follow(ctx, d, *record)
	}
	return record.State
}
