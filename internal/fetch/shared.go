// Package fetch has the common parts of all downloads, from git servers and from servers of
// charts. It selects the credentials for a URL, limits how long a server may send nothing, and
// fetches once what several callers request.
package fetch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

// Group runs work once for several callers that request it at the same time. The zero value is
// ready for use.
type Group[V any] struct {
	running singleflight.Group
}

// Do returns the result of work. The first caller of a key does the work, with its own context,
// for all callers that arrive before the work is done. A caller whose own context ends stops
// waiting. If this is the first caller, another caller starts the work again. An error or a panic
// of the work is the error of all callers. doing describes the work, such as "fetching a chart".
func (g *Group[V]) Do(ctx context.Context, key, doing string, work func(context.Context) (V, error)) (V, error) {
	var none V
	for ctx.Err() == nil {
		result := g.running.DoChan(key, func() (any, error) {
			var done V
			// Data from a server can make a library panic, and no caller recovers in this
			// goroutine.
			err := panics.Recovering(doing, func() (err error) {
				done, err = work(ctx)
				return err
			})()
			if err != nil && isOver(ctx) {
				return nil, gaveUpError{}
			}
			return done, err
		})
		select {
		case <-ctx.Done():
		case r := <-result:
			if _, left := r.Err.(gaveUpError); left { //nolint:errorlint // it is from above
				if isOver(ctx) {
					<-ctx.Done()
				}
				continue
			}
			done, _ := r.Val.(V)
			return done, r.Err
		}
	}
	return none, fmt.Errorf("%s: %w", doing, context.Cause(ctx))
}

// gaveUpError reports that the context of the caller that did the work has ended.
type gaveUpError struct{}

func (gaveUpError) Error() string { return "the first caller was cancelled" }

// isOver reports whether a context has ended. Err of a context is set a moment after the
// deadline, and a connection can fail by the deadline before that.
func isOver(ctx context.Context) bool {
	deadline, ends := ctx.Deadline()
	return ctx.Err() != nil || ends && !time.Now().Before(deadline)
}

// Cache keeps the value that was made for a key, as long as the Cache exists. It never keeps an
// error: the next caller tries again, unless its operation remembers failures (RememberFailures).
// The zero value is empty.
type Cache[V any] struct {
	group Group[V]
	mu    sync.Mutex
	made  map[string]V
}

// Get returns the value for key. If there is none, create makes it, once for all callers, as in
// Group.Do.
func (c *Cache[V]) Get(ctx context.Context, key, doing string, create func(context.Context) (V, error)) (V, error) {
	if known, ok := c.known(key); ok {
		return known, nil
	}
	remembered := failuresOf(ctx)
	if err := remembered.find(c, key); err != nil {
		var none V
		return none, err
	}
	made, err := c.group.Do(ctx, key, doing, func(ctx context.Context) (V, error) {
		if known, ok := c.known(key); ok { // Made by another caller since.
			return known, nil
		}
		made, err := create(ctx)
		if err == nil {
			c.keep(key, made)
		}
		return made, err
	})
	if err != nil && !isOver(ctx) {
		remembered.add(c, key, err)
	}
	return made, err
}

func (c *Cache[V]) known(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.made[key]
	return known, ok
}

func (c *Cache[V]) keep(key string, made V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made = map[string]V{}
	}
	c.made[key] = made
}

// RememberFailures returns a context for one operation, such as a plan. A fetch that failed under
// this context is not tried again under it: a server that does not respond gets no further
// request for each of a thousand bundles. The next operation tries again.
func RememberFailures(ctx context.Context) context.Context {
	if failuresOf(ctx) != nil {
		return ctx
	}
	return context.WithValue(ctx, failuresKey{}, &failures{of: map[failureKey]error{}})
}

type failuresKey struct{}

// failures are the failed fetches of one operation. A nil *failures remembers nothing.
type failures struct {
	mu sync.Mutex
	of map[failureKey]error
}

type failureKey struct {
	cache any
	key   string
}

func failuresOf(ctx context.Context) *failures {
	found, _ := ctx.Value(failuresKey{}).(*failures)
	return found
}

func (f *failures) find(cache any, key string) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[failureKey{cache, key}]
}

func (f *failures) add(cache any, key string, err error) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of[failureKey{cache, key}] = err
}
