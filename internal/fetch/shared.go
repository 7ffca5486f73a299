// Package fetch has the common parts of all downloads, from git servers and from servers of
// charts. It selects the credentials for a URL, limits how long a server may send nothing, and
// fetches once what several callers request.
package fetch

import (
	"context"
	"fmt"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

// Group does work once for all callers that request it at the same time. The zero value is ready
// for use.
type Group[V any] struct {
	mu      sync.Mutex
	running map[string]*call[V]
}

// call is work that callers wait for.
type call[V any] struct {
	waiting int
	cancel  context.CancelFunc

	done   chan struct{}
	result V
	err    error
}

// Do returns the result of work, or of work that another caller of the key has begun. A caller
// whose own context ends stops waiting. The context of the work has the values of the first
// caller's context, and ends when no caller waits any more. An error or a panic of the work is the
// error of all callers. doing describes the work, such as "fetching a chart".
func (g *Group[V]) Do(ctx context.Context, key, doing string, work func(context.Context) (V, error)) (V, error) {
	if ctx.Err() == nil {
		joined := g.join(ctx, key, doing, work)
		select {
		case <-joined.done:
			return joined.result, joined.err
		case <-ctx.Done():
			g.leave(key, joined)
		}
	}
	var none V
	return none, fmt.Errorf("%s: %w", doing, context.Cause(ctx))
}

func (g *Group[V]) join(ctx context.Context, key, doing string, work func(context.Context) (V, error)) *call[V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	joined := g.running[key]
	if joined == nil {
		if g.running == nil {
			g.running = map[string]*call[V]{}
		}
		joined = &call[V]{done: make(chan struct{})}
		ctx, joined.cancel = context.WithCancel(context.WithoutCancel(ctx)) //nolint:gosec // run and leave call it
		g.running[key] = joined
		go g.run(ctx, key, doing, joined, work)
	}
	joined.waiting++
	return joined
}

func (g *Group[V]) run(ctx context.Context, key, doing string, joined *call[V], work func(context.Context) (V, error)) {
	defer joined.cancel()
	// Data from a server can make a library panic, and no caller recovers in this goroutine.
	joined.err = panics.Recovering(doing, func() (err error) {
		joined.result, err = work(ctx)
		return err
	})()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end(key, joined)
	close(joined.done)
}

// leave stops waiting. Work that no caller waits for is canceled, and later callers do not share it.
func (g *Group[V]) leave(key string, joined *call[V]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if joined.waiting--; joined.waiting == 0 {
		joined.cancel()
		g.end(key, joined)
	}
}

// end removes a call, so that the next caller starts new work. g.mu must be held.
func (g *Group[V]) end(key string, joined *call[V]) {
	if g.running[key] == joined {
		delete(g.running, key)
	}
}

// Cache keeps the value that was made for a key, as long as the Cache exists. It never keeps an
// error: the next caller tries again, unless its operation remembers failures (RememberFailures).
// The zero value is empty.
type Cache[V any] struct {
	group Group[V]
	made  sync.Map // of V, by key
}

// Get returns the value for key. If there is none, create makes it, once for all callers, as in
// Group.Do.
func (c *Cache[V]) Get(ctx context.Context, key, doing string, create func(context.Context) (V, error)) (V, error) {
	if known, ok := c.Known(key); ok {
		return known, nil
	}
	failures, remembers := ctx.Value(failuresKey{}).(*sync.Map)
	if remembers {
		if err, failed := failures.Load(failureKey{c, key}); failed {
			var none V
			return none, err.(error) //nolint:forcetypeassert // It contains nothing else.
		}
	}
	made, err := c.group.Do(ctx, key, doing, func(ctx context.Context) (V, error) {
		if known, ok := c.Known(key); ok { // Made by another caller since.
			return known, nil
		}
		made, err := create(ctx)
		if err == nil {
			c.made.Store(key, made)
		}
		return made, err
	})
	if err != nil && remembers && ctx.Err() == nil {
		failures.Store(failureKey{c, key}, err)
	}
	return made, err
}

// Known returns the value for key, if it has been made.
func (c *Cache[V]) Known(key string) (V, bool) {
	made, _ := c.made.Load(key)
	known, ok := made.(V)
	return known, ok
}

// RememberFailures returns a context for one operation, such as a plan. A fetch that failed under
// this context is not tried again under it: a server that does not respond gets no further
// request for each of a thousand bundles. The next operation tries again.
func RememberFailures(ctx context.Context) context.Context {
	if ctx.Value(failuresKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, failuresKey{}, &sync.Map{})
}

// failuresKey is the key of the errors of one operation, by failureKey.
type failuresKey struct{}

type failureKey struct {
	cache any
	key   string
}
