// Package fetch is what all downloads have in common, from git servers and from those of charts:
// which credentials a URL gets, how long a server may be silent, and that what several callers
// want is fetched once.
package fetch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Group does once what several callers want at the same time. Its zero value is ready for use.
type Group[V any] struct {
	running singleflight.Group
}

// Do returns the result of work. The first caller under a key works for all that come meanwhile,
// with its own context. A caller that gives up leaves. If it is the one that works, the next one begins
// again. An error or a panic of the work is the error of all callers. doing says what the work is,
// such as "fetching a chart".
func (g *Group[V]) Do(ctx context.Context, key, doing string, work func(context.Context) (V, error)) (V, error) {
	var none V
	for ctx.Err() == nil {
		result := g.running.DoChan(key, func() (any, error) {
			var done V
			// What a server sends can make a library panic, and here nobody else recovers.
			err := status.Recovering(doing, func() (err error) {
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

// gaveUpError says that the one who worked for all has given up.
type gaveUpError struct{}

func (gaveUpError) Error() string { return "the first caller was cancelled" }

// isOver says whether a context has ended. One with a deadline says so a moment after it, and a
// connection can fail by the deadline before.
func isOver(ctx context.Context) bool {
	deadline, ends := ctx.Deadline()
	return ctx.Err() != nil || ends && !time.Now().Before(deadline)
}

// Cache keeps what was made for a key, until it is dropped itself. It never keeps an error: the
// next caller tries again, unless it belongs to an operation that remembers failures. Its zero
// value is empty.
type Cache[V any] struct {
	group Group[V]
	mu    sync.Mutex
	made  map[string]V
}

// Get returns what was made for key. If there is nothing it is made by create, once for all who
// want it, as Group.Do does.
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
		if known, ok := c.known(key); ok { // Made since.
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

// RememberFailures returns a context for one operation, such as a plan. What could not be fetched
// under it is not tried again under it: a server that does not respond is not asked again for each
// of a thousand bundles. The next operation tries again.
func RememberFailures(ctx context.Context) context.Context {
	if failuresOf(ctx) != nil {
		return ctx
	}
	return context.WithValue(ctx, failuresKey{}, &failures{of: map[failureKey]error{}})
}

type failuresKey struct{}

// failures are those of one operation. A nil one remembers nothing.
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
