package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// events collects the events of an engine as texts.
type events struct {
	mu   sync.Mutex
	seen []string
}

func (e *events) notify(_ context.Context, event deploy.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := ""
	switch event.Kind {
	case deploy.ApplyStarted:
		text = fmt.Sprintf("%s: %d to change, %s", event.Target, event.Total, event.Text)
	case deploy.StageStarted:
		text = fmt.Sprintf("stage %d/%d: %s", event.Stage, event.Stages, event.Text)
	case deploy.DeploymentStarted:
		text = fmt.Sprintf("%s starts %s, attempt %d", event.Key, event.Doing, event.Attempt)
	case deploy.DeploymentWaits:
		text = fmt.Sprintf("%s waits for %s (%s) after %s", event.Key, event.Waits.Object, event.Waits.Reason, event.Elapsed)
	case deploy.OperationRetried:
		text = fmt.Sprintf("%s retries %s, attempt %d: %v", event.Key, event.Doing, event.Attempt, event.Err)
	case deploy.DeploymentFinished:
		text = fmt.Sprintf("%s finished %s, attempt %d, %s", event.Key, event.Doing, event.Attempt, event.Elapsed.Truncate(time.Second))
	case deploy.DeploymentFailed:
		text = fmt.Sprintf("%s failed %s, attempt %d: %v", event.Key, event.Doing, event.Attempt, event.Err)
	case deploy.DeploymentNotStarted:
		text = fmt.Sprintf("%s not started: %v", event.Key, event.Err)
	case deploy.ApplyFinished:
		text = fmt.Sprintf("%s: %d of %d finished, %d failed", event.Target, event.Finished, event.Total, event.Failed)
	}
	e.seen = append(e.seen, text)
}

// about returns the events that contain a text, in their order.
func (e *events) about(text string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(e.seen), func(seen string) bool { return !strings.Contains(seen, text) })
}

func TestEventsOfAnApply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clusters := newFleet("c1", "c2", "c3")
		clusters["c1"].rollout = func(_ context.Context, key string) error {
			if key == "ns/crds" {
				time.Sleep(25 * time.Second) // Longer than a wait may last unreported.
			}
			return nil
		}
		failed := false
		clusters["c2"].before = func(_ context.Context, operation string) error {
			if !strings.HasPrefix(operation, "install") {
				return nil
			}
			if failed {
				return errors.New("no quota")
			}
			failed = true
			return &status.BusyError{Cluster: "c2", Err: errors.New("too many requests")}
		}
		clusters["c3"].put(deployed(deployment("c3", "old", "v1-a")))
		asked := request(map[deploy.Key]deploy.Record{key("c3", "old"): recordOfWrite(deployment("c3", "old", "v1-a"))})
		for _, cluster := range []string{"c1", "c2"} {
			asked.Write = append(asked.Write, after(deployment(cluster, "web", "v1-a"), "crds"), deployment(cluster, "crds", "v1-a"))
		}
		asked.Remove = []deploy.Key{key("c3", "old")}
		asked.Counts = status.Changes{Added: 4, Removed: 1}
		asked.Order = plan.Compare(plan.Desired{Deployments: asked.Write}, nil, false).Order
		var seen events
		run.New(clusters.connect, 8, seen.notify).Apply(t.Context(), asked)

		for about, want := range map[string][]string{
			of + ":": {of + ": 5 to change, +4 ~0 -1 =0", of + ": 3 of 5 finished, 2 failed"},
			"stage":  {"stage 1/2: crds on c1, c2", "stage 2/2: web on c1, c2"},
			"c1/crds": {
				"c1/crds starts installing, attempt 1",
				"c1/crds waits for Deployment ns/crds (InProgress: Available: 0/1) after 10s",
				"c1/crds finished installing, attempt 1, 25s",
			},
			"c1/web": {"c1/web starts installing, attempt 1", "c1/web finished installing, attempt 1, 0s"},
			"c2/crds": {
				"c2/crds starts installing, attempt 1",
				"c2/crds retries installing, attempt 2: cluster c2 cannot process the request now: too many requests",
				"c2/crds failed installing, attempt 2: no quota",
			},
			"c2/web": {"c2/web not started: it is held: it depends on bundle crds, which is ErrApplied"},
			"c3/old": {"c3/old starts removing, attempt 1", "c3/old finished removing, attempt 1, 0s"},
		} {
			if diff := cmp.Diff(want, seen.about(about)); diff != "" {
				t.Errorf("events about %s (-want +got):\n%s", about, diff)
			}
		}
	})
}

// A deployment whose end is skipped by a panic is reported at the end of the apply.
func TestEveryDeploymentIsReportedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clusters := newFleet("c1", "c2")
		clusters["c1"].before = func(_ context.Context, operation string) error {
			if strings.HasPrefix(operation, "install") {
				panic("x")
			}
			return nil
		}
		asked := request(map[deploy.Key]deploy.Record{})
		for _, cluster := range []string{"c1", "c2", "none"} {
			asked.Write = append(asked.Write, deployment(cluster, "web", "v1-a"))
		}
		var seen events
		run.New(clusters.connect, 8, seen.notify).Apply(t.Context(), asked)
		for about, want := range map[string]int{"c1/web failed": 1, "c2/web finished": 1, "none/web not started": 1} {
			if got := len(seen.about(about)); got != want {
				t.Errorf("%d events %q, want %d: %q", got, about, want, seen.seen)
			}
		}
	})
}

func TestInterruption(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		clusters := newFleet("c1", "c2", "c3")
		clusters["c2"].rollout = func(ctx context.Context, _ string) error {
			time.Sleep(time.Second) // The other cluster has ended.
			cancel()
			<-ctx.Done()
			return errors.New("not ready: Deployment ns/web")
		}
		asked := request(map[deploy.Key]deploy.Record{})
		first := deployment("c1", "crds", "v1-a")
		asked.Write = []target.Deployment{first, deployment("c2", "web", "v1-a"), after(deployment("c2", "late", "v1-a"), "web")}
		outcome := run.New(clusters.connect, 8).Apply(ctx, asked)
		want := &deploy.Interruption{
			Finished: []deploy.Key{key("c1", "crds")}, TakenBack: []deploy.Key{key("c2", "web")}, NotStarted: []deploy.Key{key("c2", "late")},
		}
		if diff := cmp.Diff(want, outcome.Interruption); diff != "" {
			t.Errorf("interruption (-want +got):\n%s\n%v", diff, outcome.Failures)
		}
	})
}
