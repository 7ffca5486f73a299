package run_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// The capabilities that a write needs are read at the same time as the snapshot. They are not read
// if nothing is written. An error of that request fails nothing.
func TestLookAhead(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	prior := map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(web)}
	observe := func(drift deploy.Drift) func(context.Context, *run.Runner) []deploy.Failure {
		return func(ctx context.Context, engine *run.Runner) []deploy.Failure {
			return engine.Observe(ctx, identity(), drift, prior).Failures
		}
	}
	tests := map[string]struct {
		do    func(ctx context.Context, engine *run.Runner) []deploy.Failure
		asked bool
		took  time.Duration
	}{
		"an apply": {asked: true, took: 2 * time.Second, do: func(ctx context.Context, engine *run.Runner) []deploy.Failure {
			asked := request(nil)
			asked.Write = append(asked.Write, deployment("c1", "new", "v1-a")) // The cluster is read, and then the release is installed.
			return engine.Apply(ctx, asked).Failures
		}},
		"live drift":    {took: 2 * time.Second, do: observe(deploy.DriftLive)}, // Its objects are read as well.
		"release drift": {took: time.Second, do: observe(deploy.DriftRelease)},
		"no drift":      {took: time.Second, do: observe(deploy.DriftNone)},
		"a survey": {took: 2 * time.Second, do: func(ctx context.Context, engine *run.Runner) []deploy.Failure {
			return engine.Status(ctx, owner, []target.Deployment{web}).Failures
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clusters := newFleet("c1")
				clusters["c1"].put(deployed(web))
				clusters["c1"].before = func(_ context.Context, operation string) error {
					time.Sleep(time.Second)
					if operation == capabilities {
						return errors.New("discovery is down")
					}
					return nil
				}
				began := time.Now()
				expectNoFailures(t, test.do(t.Context(), clusters.runner()))
				if took := time.Since(began); took != test.took {
					t.Errorf("took %s, want %s", took, test.took)
				}
				if got := slices.Contains(clusters["c1"].calls, capabilities); got != test.asked {
					t.Errorf("asked what it can do: %t, want %t", got, test.asked)
				}
			})
		})
	}
}

// If a cluster does not respond, the apply waits for it only once.
func TestFailedLookGivesUpWhatIsBesideIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const patience = 30 * time.Second
		clusters, asked := newFleet("c1"), request(nil)
		asked.Write = append(asked.Write, deployment("c1", "web", "v1-a"))
		clusters["c1"].before = func(ctx context.Context, operation string) error {
			if operation == capabilities {
				<-ctx.Done()
				return ctx.Err()
			}
			time.Sleep(patience)
			return unreachable("c1")
		}
		began := time.Now()
		if failures := clusters.runner().Apply(t.Context(), asked).Failures; len(failures) != 1 {
			t.Errorf("failures = %v, want one", failures)
		}
		if took := time.Since(began); took != patience {
			t.Errorf("took %s, want %s", took, patience)
		}
	})
}
