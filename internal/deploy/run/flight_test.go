package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// flight counts operations in flight. Each takes a second of the bubble's clock.
type flight struct {
	mu        sync.Mutex
	now, most int
}

func (f *flight) take(_ context.Context, operation string) error {
	if operation == capabilities {
		return nil
	}
	f.mu.Lock()
	f.now++
	f.most = max(f.most, f.now)
	f.mu.Unlock()
	time.Sleep(time.Second)
	f.mu.Lock()
	f.now--
	f.mu.Unlock()
	return nil
}

func TestParallelismBoundsAllCallsTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const parallelism, count = 3, 8
		air := &flight{}
		clusters := fleet{}
		prior := map[deploy.Key]deploy.Record{}
		asked := request(nil)
		for i := range count {
			name := fmt.Sprintf("c%d", i)
			clusters[name] = newMemoryCluster(name)
			clusters[name].before = air.take
			for _, bundle := range []string{"a", "b", "c"} {
				asked.Write = append(asked.Write, deployment(name, bundle, "v1-a"))
				// The clusters and the objects of these deployments are read.
				waiting := deployment(name, bundle+"-waiting", "v1-a")
				clusters[name].put(deployed(waiting))
				record := recordOfWrite(waiting)
				record.State = status.NotReady
				prior[key(name, bundle+"-waiting")] = record
			}
		}
		engine := run.New(clusters.connect, parallelism)
		began := time.Now()
		var calls sync.WaitGroup
		calls.Go(func() { expectNoFailures(t, engine.Apply(t.Context(), asked).Failures) })
		calls.Go(func() { expectNoFailures(t, engine.Observe(t.Context(), identity(), deploy.DriftLive, prior).Failures) })
		calls.Wait()

		if air.most != parallelism {
			t.Errorf("%d operations were in flight at once, want %d", air.most, parallelism)
		}
		// 8 clusters are read twice. 24 deployments are written, and the objects of 24 are read.
		const operations = 2*count + 3*count + 3*count
		least := (operations + parallelism - 1) / parallelism
		if took := time.Since(began); took > time.Duration(least+2)*time.Second {
			t.Errorf("%d operations of 1 s took %s, want about %d s: slots stay empty", operations, took, least)
		}
	})
}

// An operation that only waits makes room for others, but not without limit.
func TestWaitingMakesRoom(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		parallelism, most int
		fails             error // of the first rollout of each deployment
		took              time.Duration
	}{
		"one at a time":         {parallelism: 1, most: 1, took: 12 * 10 * time.Second},
		"two and four":          {parallelism: 2, most: 6, took: 3 * 10 * time.Second}, // Operations that end at the same time may begin a round late.
		"all":                   {parallelism: 4, most: 12, took: 10 * time.Second},
		"and the next try does": {parallelism: 4, most: 12, fails: &status.BusyError{}, took: 2 * 10 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const count = 12
				clusters, asked := newFleet("c1"), request(nil)
				asked.Settings.Timeout = time.Hour
				for i := range count {
					asked.Write = append(asked.Write, deployment("c1", fmt.Sprintf("b%d", i), "v1-a"))
				}
				var (
					mu        sync.Mutex
					now, most int
					tried     = map[string]bool{}
				)
				clusters["c1"].rollout = func(_ context.Context, key string) error {
					mu.Lock()
					now++
					most = max(most, now)
					again := tried[key]
					tried[key] = true
					mu.Unlock()
					time.Sleep(10 * time.Second)
					mu.Lock()
					defer mu.Unlock()
					now--
					if again {
						return nil
					}
					return test.fails
				}
				engine := run.New(clusters.connect, test.parallelism)
				began := time.Now()
				expectNoFailures(t, engine.Apply(t.Context(), asked).Failures)
				if most != test.most {
					t.Errorf("%d rollouts were waited for at once, want %d", most, test.most)
				}
				if took := time.Since(began).Truncate(10 * time.Second); took > test.took {
					t.Errorf("took %s, want %s at most", took, test.took)
				}
				// All slots are given back.
				asked.Remove, asked.Write = nil, nil
				expectNoFailures(t, engine.Apply(t.Context(), asked).Failures)
				for range test.parallelism {
					if got := engine.Snapshots(t.Context(), []string{"c1"}); len(got) != 1 {
						t.Error("nothing can be in flight any more")
					}
				}
			})
		})
	}
}

func TestParallelismOfNothingIsOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := request(nil)
		asked.Write = append(asked.Write, deployment("c1", "web", "v1-a"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		expectNoFailures(t, run.New(newFleet("c1").connect, 0).Apply(ctx, asked).Failures)
	})
}

// After 1.5 seconds, when two deployments are done and two are being written, the user presses
// Ctrl-C.
func TestCancelStartsNothingNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		air := &flight{}
		clusters := newFleet("c1")
		web := deployment("c1", "gone", "v1-old")
		clusters["c1"].put(deployed(web))
		clusters["c1"].before = func(ctx context.Context, operation string) error {
			if isLook(operation) || strings.HasPrefix(operation, "read") {
				return ctx.Err()
			}
			return air.take(ctx, operation) // An operation that was begun ends by itself.
		}
		asked := request(map[deploy.Key]deploy.Record{key("c1", "gone"): recordOfWrite(web)})
		const count = 10
		for i := range count {
			asked.Write = append(asked.Write, deployment("c1", fmt.Sprintf("b%d", i), "v1-a"))
		}
		asked.Remove = []deploy.Key{key("c1", "gone")}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(1500*time.Millisecond, cancel)

		outcome := run.New(clusters.connect, 2).Apply(ctx, asked)

		const finished = 4
		if got := len(clusters["c1"].did()); got != finished {
			t.Errorf("%d operations ran: %v, want %d", got, clusters["c1"].did(), finished)
		}
		// Written deployments are recorded, and deployments that were not begun are not. The
		// deployment to be removed still exists.
		if got := len(outcome.Records); got != finished+1 {
			t.Errorf("%d records, want %d: %v", got, finished+1, outcome.Records)
		}
		if diff := cmp.Diff(recordOfWrite(web), outcome.Records[key("c1", "gone")]); diff != "" {
			t.Errorf("record of what was to be removed (-want +got):\n%s", diff)
		}
		for name, record := range outcome.Records {
			if record.State != status.Ready {
				t.Errorf("%s is %s: %s", name, record.State, record.Message)
			}
		}
		if got := len(outcome.Failures); got != count-finished+1 {
			t.Errorf("%d failures, want %d", got, count-finished+1)
		}
		for _, failure := range outcome.Failures {
			if !errors.Is(failure.Err, context.Canceled) {
				t.Errorf("%s/%s: error = %v, want one of cancellation", failure.Cluster, failure.Bundle, failure.Err)
			}
		}
	})
}

func TestCancelledBeforeItBegan(t *testing.T) {
	t.Parallel()
	clusters := newFleet("c1")
	web := deployment("c1", "web", "v1-old")
	clusters["c1"].put(deployed(web))
	prior := map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(web)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	engine := clusters.runner()
	for name, remove := range map[string]bool{"writing": false, "removing": true} {
		asked := request(prior)
		if remove {
			asked.Remove = []deploy.Key{key("c1", "web")}
		} else {
			asked.Write = append(asked.Write, deployment("c1", "web", "v1-new"))
		}
		outcome := engine.Apply(ctx, asked)
		if diff := cmp.Diff(prior, outcome.Records); diff != "" {
			t.Errorf("%s: records (-want +got):\n%s", name, diff)
		}
		if len(outcome.Failures) != 1 {
			t.Errorf("%s: failures = %v, want one", name, outcome.Failures)
		}
	}
	observed := engine.Observe(ctx, identity(), deploy.DriftRelease, prior)
	if diff := cmp.Diff(prior, observed.Records); diff != "" {
		t.Errorf("observing: records (-want +got):\n%s", diff)
	}
	if got := clusters["c1"].calls; len(got) > 0 {
		t.Errorf("the cluster was asked: %v", got)
	}
}

// A write that is running when the user presses Ctrl-C continues for a while. If it does not end
// in that time, its release is read anyway, so that the result is saved.
func TestCancelledWriteIsRead(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]bool{"comes to its end": false, "does not": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clusters := newFleet("c1")
				ctx, cancel := context.WithCancel(t.Context())
				clusters["c1"].before = func(ctx context.Context, operation string) error {
					if operation != "install ns/web" {
						return nil
					}
					cancel()
					half := deployed(deployment("c1", "web", "v1-a"))
					half.Status = release.StatusPendingInstall
					clusters["c1"].mu.Lock()
					clusters["c1"].put(half)
					clusters["c1"].mu.Unlock()
					if slow {
						<-ctx.Done()
						return unreachable("c1") // The write is not tried again after Ctrl-C.
					}
					time.Sleep(time.Second)
					return ctx.Err()
				}
				asked := request(nil)
				asked.Write = append(asked.Write, deployment("c1", "web", "v1-a"))
				began := time.Now()
				outcome := clusters.runner().Apply(ctx, asked)
				want := recordOfWrite(deployment("c1", "web", "v1-a"))
				if slow {
					want = deploy.Record{Release: "web", Namespace: "ns", Digest: "v1-a", State: status.ErrApplied, Message: unreachable("c1").Error(), BundleLabels: want.BundleLabels, Known: want.Known}
				}
				if diff := cmp.Diff(map[deploy.Key]deploy.Record{key("c1", "web"): want}, outcome.Records); diff != "" {
					t.Errorf("records (-want +got):\n%s", diff)
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("took %v after Ctrl-C", took)
				}
			})
		})
	}
}

func identity() deploy.TargetIdentity {
	return deploy.TargetIdentity{Owner: owner, Target: of, Instance: instance, Key: recordKey}
}
