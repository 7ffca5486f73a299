package deploy_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// One target loses a deployment and another of the workspace gains it, in one
// apply. Whoever comes first, the release stays and keeps its revision.
func TestHandOverInEitherOrder(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	for _, first := range []string{"the loser", "the gainer"} {
		t.Run(first+" first", func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1")
			clusters["c1"].put(deployed(web))
			loser := request(map[deploy.Key]deploy.Record{key("c1", "web"): recordOf(web)})
			loser.Remove = []deploy.Key{key("c1", "web")}
			loser.HandOver = func(_ context.Context, cluster, uid, namespace, name string) bool {
				return cluster == "c1" && uid == "uid-c1" && namespace == "ns" && name == "web"
			}
			gainer := request(nil)
			gainer.Target, gainer.Instance = "gainer", "g"
			gainer.Write = []target.Deployment{web}
			requests := []deploy.Request{loser, gainer}
			if first == "the gainer" {
				slices.Reverse(requests)
			}
			for i, asked := range requests {
				outcome := clusters.engine().Apply(t.Context(), asked)
				expectNoFailures(t, outcome.Failures)
				if left := len(outcome.HandedOver) == 1; left != (asked.HandOver != nil) {
					t.Errorf("request %d handed over %v", i, outcome.HandedOver)
				}
			}
			left := clusters["c1"].releases["ns/web"]
			if left.Revision != 1 || left.Mark.Instance != "g" {
				t.Errorf("left is revision %d of instance %q, want 1 of the gainer", left.Revision, left.Mark.Instance)
			}
			if diff := cmp.Diff([]string{"adopt ns/web"}, clusters["c1"].did()); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

// Two targets of one workspace want one release, which no plan could see, as with two
// provider blocks: whoever has it keeps it.
func TestWhatAnotherTargetStillWantsIsNotHandedOver(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	clusters := newFleet("c1")
	clusters["c1"].put(deployed(web))
	second := request(nil)
	second.Target, second.Instance = "second", "s"
	second.Write = []target.Deployment{web}
	second.HandOver = func(context.Context, string, string, string, string) bool { return true }
	outcome := clusters.engine().Apply(t.Context(), second)
	if diff := cmp.Diff([]string{"c1/web deploying"}, failed(outcome.Failures)); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	if did := clusters["c1"].did(); len(did) > 0 {
		t.Errorf("did %q", did)
	}
}

// A move failed and was taken back: what it left goes with the next write, and
// nothing else does.
func TestStraysOfAMoveAreRemoved(t *testing.T) {
	t.Parallel()
	web, other := deployment("c1", "web", "v1-a"), deployment("c1", "other", "v1-a")
	stray := deployment("c1", "web", "v1-b")
	stray.Release = "site"
	kept := recordOf(web)
	kept.State = status.ErrApplied
	tests := map[string]struct {
		change func(*release.Observed)
		prior  deploy.Key
		did    []string
	}{
		"its own":                {did: []string{"keep ns/web", "uninstall ns/site"}},
		"of another instance":    {change: func(o *release.Observed) { o.Mark.Instance = "j" }, did: []string{"keep ns/web"}},
		"of another bundle":      {change: func(o *release.Observed) { o.Mark.Bundle = "b" }, did: []string{"keep ns/web"}},
		"history of a removal":   {change: func(o *release.Observed) { o.Status = release.StatusUninstalled }, did: []string{"keep ns/web"}},
		"known to the state":     {prior: key("c1", "site"), did: []string{"keep ns/web"}},
		"known as another's too": {prior: key("alias", "site"), did: []string{"keep ns/web"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1")
			left := deployed(stray)
			if test.change != nil {
				test.change(&left)
			}
			for _, there := range []release.Observed{left, deployed(web), deployed(other)} {
				clusters["c1"].put(there)
			}
			prior := map[deploy.Key]deploy.Record{key("c1", "web"): kept, key("c1", "other"): recordOf(other)}
			asked := request(prior)
			if test.prior != (deploy.Key{}) {
				prior[test.prior] = recordOf(stray)
			}
			asked.UIDs = map[string]string{"alias": "uid-c1"}
			asked.Write, asked.Keep = []target.Deployment{web}, []deploy.Key{key("c1", "other")}

			outcome := clusters.engine().Apply(t.Context(), asked)

			expectNoFailures(t, outcome.Failures)
			if diff := cmp.Diff(test.did, clusters["c1"].did()); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			if holder := clusters["c1"].held()["ClusterRole/web"]; holder == "" {
				t.Error("an object that the release holds went with the stray")
			}
		})
	}
}

// What an apply made and could not save comes back into the state.
func TestObserveFindsWhatTheStateDoesNotKnow(t *testing.T) {
	t.Parallel()
	web, lost := deployment("a", "web", "v1-a"), deployment("a", "lost", "v1-b")
	found := deploy.Record{
		Release: "lost", Namespace: "ns", Digest: "v1-b", State: status.WaitApplied,
		Message: "found on the cluster; an earlier apply could not save it",
	}
	tests := map[string]struct {
		arrange func(fleet)
		change  func(*release.Observed)
		prior   map[deploy.Key]deploy.Record
		want    map[deploy.Key]deploy.Record
	}{
		"its own":              {want: map[deploy.Key]deploy.Record{key("a", "lost"): found}},
		"of another instance":  {change: func(o *release.Observed) { o.Mark.Instance = "j" }},
		"of nobody":            {change: func(o *release.Observed) { o.Mark = release.Mark{} }},
		"history of a removal": {change: func(o *release.Observed) { o.Status = release.StatusUninstalled }},
		"known under another name of the cluster": {
			arrange: func(f fleet) { f["b"] = f["a"] }, prior: map[deploy.Key]deploy.Record{key("b", "lost"): recordOf(lost)},
		},
		"while another cluster does not answer": {
			arrange: func(f fleet) {
				f["b"] = newMemory("b")
				f["b"].before = func(context.Context, string) error { return unreachable("b") }
			},
			prior: map[deploy.Key]deploy.Record{key("b", "web"): recordOf(web)},
		},
		"another release of a deployment that is known": {change: func(o *release.Observed) { o.Mark.Bundle = "web" }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("a")
			clusters["a"].put(deployed(web))
			there := deployed(lost)
			if test.change != nil {
				test.change(&there)
			}
			clusters["a"].put(there)
			if test.arrange != nil {
				test.arrange(clusters)
			}
			prior := map[deploy.Key]deploy.Record{key("a", "web"): recordOf(web)}
			want := map[deploy.Key]deploy.Record{key("a", "web"): recordOf(web)}
			for known, record := range test.prior {
				prior[known], want[known] = record, record
			}
			maps.Copy(want, test.want)
			holder := deploy.Holder{Owner: owner, Target: of, Instance: instance, Workspace: home}
			got := clusters.engine().Observe(t.Context(), holder, deploy.DriftRelease, prior)
			if diff := cmp.Diff(want, got.Records, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// Whether a release is handed over can depend on a plan that looks at clusters itself,
// so it is asked while no operation is held up by that.
func TestHandOverIsAskedWithoutASlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clusters := newFleet("a")
		engine := deploy.New(clusters.connect, 1)
		before := deployment("a", "web", "v1-a")
		after := deployment("a", "web", "v1-b")
		after.Release = "web-2"
		clusters["a"].put(deployed(before))
		asked := request(map[deploy.Key]deploy.Record{key("a", "web"): recordOf(before)})
		asked.Write = []target.Deployment{after}
		asked.HandOver = func(ctx context.Context, _, _, _, _ string) bool {
			engine.Snapshots(ctx, []string{"a"})
			return false
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		expectNoFailures(t, engine.Apply(ctx, asked).Failures)
		if took := time.Since(began); took > 0 {
			t.Errorf("waited %s for a slot", took)
		}
	})
}
