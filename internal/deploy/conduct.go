package deploy

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// conductor has the deployments of a request written, each when its turn has come.
type conductor struct {
	visits  map[string]*visit
	steps   []release.Step
	bundles []*bundle.Bundle
	running sync.WaitGroup

	mu    sync.Mutex
	order *release.Order
	begun []bool
}

// conduct writes what a request wants and returns when all of it came to an end.
func conduct(ctx context.Context, request Request, visits map[string]*visit) {
	steps := request.steps()
	c := &conductor{visits: visits, steps: steps, order: release.NewOrder(steps), begun: make([]bool, len(steps))}
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
		if step.Change && !c.begun[i] {
			c.hold(ctx, i, errors.New("nothing that it waits for goes on"))
		}
	}
	c.running.Wait()
}

// advance starts what can begin now.
func (c *conductor) advance(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	begin, held := c.order.Next()
	for _, i := range held {
		c.hold(ctx, i, c.order.Held(i))
	}
	for _, i := range begin {
		c.begun[i] = true
		c.running.Go(func() {
			c.settle(i, c.carry(ctx, i))
			c.advance(ctx)
		})
	}
}

func (c *conductor) settle(i int, state status.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order.Settle(i, string(state))
}

func (c *conductor) isAwaited(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.Awaited(i)
}

// hold reports a deployment that is not begun. What the plan held already is no news.
func (c *conductor) hold(ctx context.Context, i int, err error) {
	c.begun[i] = true
	step := c.steps[i]
	if step.Held != nil || !step.Change {
		return
	}
	c.running.Go(func() {
		v := c.visits[step.Deployment.Cluster]
		defer v.writes.Done()
		<-v.looked
		switch {
		case v.seen.err != nil:
			v.results.untouched(keyOf(step.Deployment), "looking at the cluster before deploying", v.seen.err)
		case ctx.Err() != nil:
			v.results.untouched(keyOf(step.Deployment), "deploying", fmt.Errorf("not started: %w", ctx.Err()))
		default:
			v.results.held(keyOf(step.Deployment), "deploying", err)
		}
	})
}

// carry carries out one step and answers how its deployment is doing then.
func (c *conductor) carry(ctx context.Context, i int) status.State {
	d := c.steps[i].Deployment
	v := c.visits[d.Cluster]
	<-v.looked
	if !c.steps[i].Change {
		return v.watch(ctx, d)
	}
	defer v.writes.Done()
	if v.seen.err != nil {
		v.results.untouched(keyOf(d), "looking at the cluster before deploying", v.seen.err)
		return status.WaitApplied
	}
	for _, needed := range c.order.Outside(i) {
		if err := v.has(ctx, d, needed, c.bundles); err != nil {
			v.results.untouched(keyOf(d), "deploying", err)
			return status.ErrApplied
		}
	}
	record := v.write(ctx, d)
	if record == nil {
		return status.ErrApplied
	}
	if record.State == status.NotReady && c.isAwaited(i) {
		return v.follow(ctx, d, *record)
	}
	return record.State
}
