package fetch_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

var errDown = errors.New("down")

// For concurrent callers: how often the work is done, and with which result.
func TestGroup(t *testing.T) {
	t.Parallel()
	const long = time.Minute
	tests := map[string]struct {
		// firstGivesUp ends the context of the first caller after a while, by a deadline or by
		// cancellation.
		firstGivesUp, byDeadline bool
		// otherGivesUp ends the context of one of the waiting callers.
		otherGivesUp bool
		err          error
		panics       bool
		works        int
	}{
		"success":                             {works: 1},
		"error":                               {err: errDown, works: 1},
		"a deadline of the work is no end":    {err: context.DeadlineExceeded, works: 1},
		"panic":                               {panics: true, works: 1},
		"the first is cancelled":              {firstGivesUp: true, works: 1},
		"the deadline of the first passes":    {firstGivesUp: true, byDeadline: true, works: 1},
		"the first is cancelled, then errors": {firstGivesUp: true, err: errDown, works: 1},
		"one that waits is cancelled":         {otherGivesUp: true, works: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var (
					group fetch.Group[string]
					works int
					all   sync.WaitGroup
				)
				begun := time.Now()
				call := func(ctx context.Context, leaves bool) {
					all.Go(func() {
						got, err := group.Do(ctx, "web", "fetching web", func(ctx context.Context) (string, error) {
							works++
							select {
							case <-ctx.Done():
								return "", ctx.Err()
							case <-time.After(long):
							}
							if tt.panics {
								panic("broken")
							}
							return "made", tt.err
						})
						switch panicked := new(panics.Error); {
						case leaves:
							if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) >= long {
								t.Errorf("who gives up leaves with %q, %v after %s", got, err, time.Since(begun))
							}
						case tt.panics:
							if !errors.As(err, &panicked) {
								t.Errorf("error %v, want a panic", err)
							}
						case !errors.Is(err, tt.err) || err == nil && got != "made":
							t.Errorf("result %q, %v, want the error %v", got, err, tt.err)
						}
					})
				}
				short, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.byDeadline {
					short, cancel = context.WithTimeout(t.Context(), long/2)
					defer cancel()
				}
				first, other := t.Context(), t.Context()
				if tt.firstGivesUp {
					first = short
				}
				if tt.otherGivesUp {
					other = short
				}
				call(first, tt.firstGivesUp)
				synctest.Wait()
				call(other, tt.otherGivesUp)
				call(t.Context(), false)
				synctest.Wait()
				if !tt.byDeadline && (tt.firstGivesUp || tt.otherGivesUp) {
					cancel()
				}
				all.Wait()
				if works != tt.works {
					t.Errorf("worked %d times, want %d", works, tt.works)
				}
			})
		})
	}
}

// Work that no caller waits for is canceled, and the next caller starts new work.
func TestGroupWithoutCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group fetch.Group[string]
		ended := false
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := group.Do(short, "web", "fetching web", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			ended = true
			return "", ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want that of the deadline", err)
		}
		synctest.Wait()
		if !ended {
			t.Error("the work goes on")
		}
		got, err := group.Do(t.Context(), "web", "fetching web", func(context.Context) (string, error) { return "made", nil })
		if got != "made" || err != nil {
			t.Errorf("the next caller: %q, %v", got, err)
		}
	})
}

// For one caller after the other.
func TestCache(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	operation := fetch.RememberFailures(t.Context())
	if fetch.RememberFailures(operation) != operation {
		t.Error("an operation in an operation forgets its failures")
	}
	type call struct {
		ctx  context.Context //nolint:containedctx // a row of a table
		key  string
		err  error // Of the work.
		want error
		done bool // Whether the work is done.
	}
	tests := map[string][]call{
		"made once":              {{ctx: t.Context(), key: "a", done: true}, {ctx: t.Context(), key: "a"}, {ctx: t.Context(), key: "b", done: true}},
		"no error is kept":       {{ctx: t.Context(), key: "a", err: errDown, want: errDown, done: true}, {ctx: t.Context(), key: "a", done: true}, {ctx: t.Context(), key: "a"}},
		"nor by an operation":    {{ctx: operation, key: "a", err: errDown, want: errDown, done: true}, {ctx: t.Context(), key: "a", done: true}},
		"an operation remembers": {{ctx: operation, key: "a", err: errDown, want: errDown, done: true}, {ctx: operation, key: "a", want: errDown}, {ctx: operation, key: "b", done: true}},
		"another makes it":       {{ctx: operation, key: "a", err: errDown, want: errDown, done: true}, {ctx: t.Context(), key: "a", done: true}, {ctx: operation, key: "a"}},
		"another operation":      {{ctx: operation, key: "a", err: errDown, want: errDown, done: true}, {ctx: fetch.RememberFailures(t.Context()), key: "a", done: true}},
		"given up":               {{ctx: ended, key: "a", want: context.Canceled}, {ctx: t.Context(), key: "a", done: true}},
		"known to one who left":  {{ctx: t.Context(), key: "a", done: true}, {ctx: ended, key: "a"}},
	}
	for name, calls := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cache fetch.Cache[string]
			for i, c := range calls {
				done := false
				got, err := cache.Get(c.ctx, c.key, "making it", func(context.Context) (string, error) {
					done = true
					return "made of " + c.key, c.err
				})
				if done != c.done || !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || err == nil && got != "made of "+c.key {
					t.Errorf("call %d: worked %t with %q, %v, want %t with %v", i, done, got, err, c.done, c.want)
				}
			}
		})
	}
}
