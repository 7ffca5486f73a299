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
func (c *scheduler) advance(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	begin, held := c.order.Next()
	for _, i := range held {
		c.hold(ctx, i, c.order.Held(i))
	}
	for _, i := range begin {
		c.started[i] = true
		if c.steps[i].Change {
			c.progress.startStage(deploy.KeyOf(c.steps[i].Deployment))
		}
		c.running.Go(panics.RecoveringTo(func(err error) { c.reportPanic(i, err) }, "ordering deployments", func() {
			state := c.runStep(ctx, i)
			if c.steps[i].Change {
				c.progress.end(deploy.KeyOf(c.steps[i].Deployment))
			}
			c.end(i, state)
			c.advance(ctx)
		}))
	}
}

func (c *scheduler) end(i int, state status.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order.Finish(i, string(state))
}

func (c *scheduler) isAwaited(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.Awaited(i)
}

// hold reports a deployment that is not begun. A deployment that the plan already held is not
// reported again.
func (c *scheduler) hold(ctx context.Context, i int, err error) {
	c.started[i] = true
	step := c.steps[i]
	if step.Held != nil || !step.Change {
		return
	}
	c.running.Go(panics.RecoveringTo(func(err error) { c.reportPanic(i, err) }, "deploying", func() {
		v := c.runs[step.Deployment.Cluster]
		defer v.writes.Done()
		defer c.progress.end(deploy.KeyOf(step.Deployment))
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
func (c *scheduler) reportPanic(i int, err error) {
	d := c.steps[i].Deployment
	c.runs[d.Cluster].results.addFailed(deploy.KeyOf(d), "deploying", err, nil)
}

// runStep carries out one step and returns the state of its deployment. A panic fails only this
// deployment.
func (c *scheduler) runStep(ctx context.Context, i int) (state status.State) {
	d := c.steps[i].Deployment
	if err := panics.Recovering(recoverTo("deploying", d.Namespace, d.Release), func() error {
		state = c.write(ctx, i)
		return nil
	})(); err != nil {
		c.runs[d.Cluster].writeOf(d).failWithPanic(err)
		return status.ErrApplied
	}
	return state
}

func (c *scheduler) write(ctx context.Context, i int) status.State {
	d := c.steps[i].Deployment
	v := c.runs[d.Cluster]
	<-v.snapshotTaken
	if !c.steps[i].Change {
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
	for _, needed := range c.order.ExternalDependencies(i) {
		if err := v.externalDependencyOf(d, needed).check(ctx, c.bundles); err != nil {
			v.results.addUntouched(deploy.KeyOf(d), "deploying", err)
			return status.ErrApplied
		}
	}
	record := v.writeOf(d).deploy(ctx)
	if record == nil {
		return status.ErrApplied
	}
	if record.State == status.NotReady && c.isAwaited(i) {
		return v.follow(ctx, d, *record)
	}
	return record.State
}
