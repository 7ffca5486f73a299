package run_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// A snapshot serves all callers, and an error only the callers that waited for it.
func TestSnapshotCache(t *testing.T) {
	t.Parallel()
	there := release.Snapshot{UID: "1"}
	refused := errors.New("refused")
	type question struct {
		after, patience time.Duration
		want            error // nil for the snapshot
	}
	tests := map[string]struct {
		// ask is how the cluster responds the first, second … time.
		ask       []func(ctx context.Context) (release.Snapshot, error)
		questions []question
		asked     int
	}{
		"an answer is kept": {
			ask:       []func(context.Context) (release.Snapshot, error){within(time.Second, there, nil)},
			questions: []question{{patience: time.Minute}, {patience: time.Minute}, {after: time.Hour, patience: time.Minute}},
			asked:     1,
		},
		"an error is not": {
			ask: []func(context.Context) (release.Snapshot, error){within(time.Second, there, refused), within(time.Second, there, nil)},
			questions: []question{
				{patience: time.Minute, want: refused},
				{patience: time.Minute, want: refused},
				{after: 2 * time.Second, patience: time.Minute},
			},
			asked: 2,
		},
		"who has more time goes on waiting": {
			ask:       []func(context.Context) (release.Snapshot, error){within(5*time.Second, there, nil)},
			questions: []question{{patience: 3 * time.Second, want: context.DeadlineExceeded}, {after: time.Second, patience: 10 * time.Second}},
			asked:     1,
		},
		"what nobody waits for ends": {
			ask:       []func(context.Context) (release.Snapshot, error){within(time.Hour, there, nil), within(time.Second, there, nil)},
			questions: []question{{patience: 3 * time.Second, want: context.DeadlineExceeded}, {after: 4 * time.Second, patience: 10 * time.Second}},
			asked:     2,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var (
					cache  run.SnapshotCache
					asked  atomic.Int64
					asking sync.WaitGroup
				)
				for i, q := range test.questions {
					asking.Go(func() {
						time.Sleep(q.after)
						ctx, cancel := context.WithTimeout(t.Context(), q.patience)
						defer cancel()
						found, err := cache.Get(ctx, "c1", func(ctx context.Context) (release.Snapshot, error) {
							return test.ask[asked.Add(1)-1](ctx)
						})
						if !errors.Is(err, q.want) || err == nil && found.UID != there.UID {
							t.Errorf("question %d: %+v, %v, want error %v", i, found, err, q.want)
						}
					})
				}
				asking.Wait()
				if got := int(asked.Load()); got != test.asked {
					t.Errorf("asked %d times, want %d", got, test.asked)
				}
			})
		})
	}
}

// within returns its result after some time, unless ctx ends before.
func within(after time.Duration, snapshot release.Snapshot, err error) func(context.Context) (release.Snapshot, error) {
	return func(ctx context.Context) (release.Snapshot, error) {
		select {
		case <-time.After(after):
			return snapshot, err
		case <-ctx.Done():
			return release.Snapshot{}, ctx.Err()
		}
	}
}

// A panic is the error of the callers that wait, and ends no process.
func TestSnapshotCacheOfAPanic(t *testing.T) {
	t.Parallel()
	var cache run.SnapshotCache
	_, err := cache.Get(t.Context(), "c1", func(context.Context) (release.Snapshot, error) {
		panic("broken")
	})
	if panicked := new(panics.Error); !errors.As(err, &panicked) {
		t.Errorf("error = %v, want a panic", err)
	}
}
