package run_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A target that is not in a state writes nothing while releases with its owner and name exist.
func TestCreateStopsBeforeItsFirstWrite(t *testing.T) {
	t.Parallel()
	web, api := deployment("c1", "web", "v1-a"), deployment("c2", "api", "v1-a")
	const key = "hash of a key"
	tests := map[string]struct {
		there  func(*release.Observed)
		change func(*run.Request)
		want   []string // existing releases
		did    []string // on both clusters
		signed bool
	}{
		"of its owner and name": {want: []string{"c1 ns/web"}},
		"of its owner and name, of another bundle": {
			there: func(o *release.Observed) { o.Release = "old" }, want: []string{"c1 ns/old"},
		},
		"of its owner and name, with another key": {
			there:  func(o *release.Observed) { o.Mark.AdoptionKey = "another" },
			change: func(r *run.Request) { r.AdoptionKey = key }, want: []string{"c1 ns/web"},
		},
		"with its key": {
			there:  func(o *release.Observed) { o.Mark.AdoptionKey = key },
			change: func(r *run.Request) { r.AdoptionKey = key }, did: []string{"adopt ns/web", "install ns/api"}, signed: true,
		},
		"with its key, without a proof": {
			there:  func(o *release.Observed) { o.Mark.AdoptionKey = key },
			change: func(r *run.Request) { r.AdoptionKey = key }, want: []string{"c1 ns/web"},
		},
		"with consent": {
			change: func(r *run.Request) { r.Settings.Consent.All = true }, did: []string{"upgrade ns/web", "install ns/api"},
		},
		"with consent to it": {
			change: func(r *run.Request) { r.Settings.Consent = consent(t, "c1/web") }, did: []string{"upgrade ns/web", "install ns/api"},
		},
		"with consent to another one": {
			change: func(r *run.Request) { r.Settings.Consent = consent(t, "*/api") }, want: []string{"c1 ns/web"},
		},
		"with consent to its name, of no deployment": {
			there:  func(o *release.Observed) { o.Release = "old" },
			change: func(r *run.Request) { r.Settings.Consent = consent(t, "c1/*") }, want: []string{"c1 ns/old"},
		},
		"of its owner and name, removed by hand": {
			there: func(o *release.Observed) { o.Status = release.StatusUninstalled }, did: []string{"install ns/web", "install ns/api"},
		},
		"of another target": {
			there: func(o *release.Observed) { o.Mark.Target, o.Release, o.Mark.Bundle = "other", "other", "other" },
			did:   []string{"install ns/web", "install ns/api"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1", "c2")
			there := deployed(web)
			there.Mark.Instance = "lost"
			if test.there != nil {
				test.there(&there)
			}
			if test.signed {
				there = signed(there, proofOn("c1"))
			}
			clusters["c1"].put(there)
			asked := request(nil)
			asked.Create, asked.Write = true, []target.Deployment{web, api}
			if test.change != nil {
				test.change(&asked)
			}
			outcome := clusters.runner().Apply(t.Context(), asked)

			expectNoFailures(t, outcome.Failures)
			var existing []string
			for _, found := range outcome.Existing {
				existing = append(existing, found.Cluster+" "+release.Key(found.Observed.Namespace, found.Observed.Release))
			}
			if diff := cmp.Diff(test.want, existing); diff != "" {
				t.Errorf("existing (-want +got):\n%s", diff)
			}
			did := slices.Concat(clusters["c1"].did(), clusters["c2"].did())
			did = slices.DeleteFunc(did, func(call string) bool { return strings.HasPrefix(call, "inspect") })
			if diff := cmp.Diff(test.did, did, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

// Nothing is written to or removed from a cluster that is not the planned one. The other clusters
// continue.
func TestOnlyThePlannedClusterIsWritten(t *testing.T) {
	t.Parallel()
	web, old := deployment("c1", "web", "v1-a"), deployment("c1", "old", "v1-a")
	elsewhere := deployment("c2", "web", "v1-a")
	tests := map[string]struct {
		uids map[string]string
		want []string
	}{
		"the same":      {uids: map[string]string{"c1": "uid-c1"}},
		"not known yet": {},
		"another":       {uids: map[string]string{"c1": "uid-of-another"}, want: []string{"c1/old reading the cluster before removing", "c1/web reading the cluster before deploying"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1", "c2")
			clusters["c1"].put(deployed(old))
			asked := request(map[deploy.Key]deploy.Record{key("c1", "old"): recordOfWrite(old)})
			asked.Write, asked.Remove, asked.UIDs = []target.Deployment{web, elsewhere}, []deploy.Key{key("c1", "old")}, test.uids
			outcome := clusters.runner().Apply(t.Context(), asked)

			if diff := cmp.Diff(test.want, failed(outcome.Failures), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if did := clusters["c1"].did(); (len(did) > 0) != (test.want == nil) {
				t.Errorf("did %q on the first cluster", did)
			}
			if did := clusters["c2"].did(); len(did) != 1 {
				t.Errorf("did %q on the second cluster", did)
			}
			if _, known := outcome.Records[key("c1", "old")]; known != (test.want != nil) {
				t.Errorf("the state has what was to be removed: %t", known)
			}
		})
	}
}

// A cluster that claims the identity of another one does not prevent removals on that other
// cluster.
func TestAClaimedIdentityKeepsNothing(t *testing.T) {
	t.Parallel()
	clusters := newFleet("a", "b")
	onA, onB := deployment("a", "web", "v1-a"), deployment("b", "web", "v1-a")
	clusters["a"].put(deployed(onA))
	clusters["b"].put(deployed(onB))
	clusters["a"].name = "b" // Its UID is that of b from now on.
	asked := request(map[deploy.Key]deploy.Record{key("a", "web"): recordOfWrite(onA), key("b", "web"): recordOfWrite(onB)})
	asked.Write, asked.Remove = []target.Deployment{deployment("a", "web", "v1-b")}, []deploy.Key{key("b", "web")}
	asked.UIDs = map[string]string{"a": "uid-a", "b": "uid-b"}
	outcome := clusters.runner().Apply(t.Context(), asked)
	if diff := cmp.Diff([]string{"a/web reading the cluster before deploying"}, failed(outcome.Failures)); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	if _, left := clusters["b"].releases["ns/web"]; left {
		t.Error("the release is still there")
	}
}

// Only the values in state decide how a release is removed. The claims of the release record do
// not.
func TestRemovalUsesWhatStateKnows(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	clusters := newFleet("c1")
	there := deployed(web)
	there.Mark.UninstallPolicy = release.UninstallPolicy{DeleteNamespace: true, KeepResources: true, ServiceAccount: "somebody-else"}
	clusters["c1"].put(there)
	prior := recordOfWrite(web)
	prior.Known.ServiceAccount, prior.Known.TargetNamespace = "deployer", "ns"
	asked := request(map[deploy.Key]deploy.Record{key("c1", "web"): prior})
	asked.Remove = []deploy.Key{key("c1", "web")}
	expectNoFailures(t, clusters.runner().Apply(t.Context(), asked).Failures)
	if diff := cmp.Diff(prior.Known, clusters["c1"].removals["ns/web"].Known); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
}

// A release with the id of this target that is not in its state is never removed.
func TestWhatStateDoesNotKnowIsNotRemoved(t *testing.T) {
	t.Parallel()
	web, forged := deployment("c1", "web", "v1-a"), deployment("c1", "forged", "v1-a")
	clusters := newFleet("c1")
	clusters["c1"].put(deployed(web))
	clusters["c1"].put(deployed(forged))
	asked := request(map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(web)})
	moved := web
	moved.Release = "site"
	asked.Write = []target.Deployment{moved}
	expectNoFailures(t, clusters.runner().Apply(t.Context(), asked).Failures)
	if _, left := clusters["c1"].releases["ns/forged"]; !left {
		t.Error("the forged release is gone")
	}
	if _, left := clusters["c1"].releases["ns/web"]; left {
		t.Error("the release that it moved from is still there")
	}
}

// A failed move leaves both names in the state. The next apply removes the unwanted release, and a
// removal removes both.
func TestBothNamesOfAFailedMoveAreKnown(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	moved := deployment("c1", "web", "v1-b")
	moved.Release = "site"
	clusters := newFleet("c1")
	clusters["c1"].put(deployed(web))
	clusters["c1"].broken["ns/site"] = errors.New("an object is refused")
	asked := request(map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(web)})
	asked.Write = []target.Deployment{moved}
	outcome := clusters.runner().Apply(t.Context(), asked)

	want := recordOfWrite(web)
	want.State, want.Message = status.ErrApplied, "an object is refused"
	want.Leftovers = []release.Known{knownOf(moved)}
	if diff := cmp.Diff(want, outcome.Records[key("c1", "web")]); diff != "" {
		t.Fatalf("record (-want +got):\n%s", diff)
	}
	tests := map[string]struct {
		change func(*run.Request)
		left   []string
	}{
		"the move succeeds": {change: func(r *run.Request) { r.Write = []target.Deployment{moved} }, left: []string{"ns/site"}},
		"it is taken back":  {change: func(r *run.Request) { r.Write = []target.Deployment{web} }, left: []string{"ns/web"}},
		"it is removed":     {change: func(r *run.Request) { r.Remove = []deploy.Key{key("c1", "web")} }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := newFleet("c1")
			maps.Copy(next["c1"].releases, clusters["c1"].releases)
			asked := request(outcome.Records)
			test.change(&asked)
			after := next.runner().Apply(t.Context(), asked)
			expectNoFailures(t, after.Failures)
			if diff := cmp.Diff(test.left, slices.Sorted(maps.Keys(next["c1"].releases)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("releases (-want +got):\n%s", diff)
			}
			if len(after.Records[key("c1", "web")].Leftovers) > 0 {
				t.Errorf("the state still knows %v", after.Records[key("c1", "web")].Leftovers)
			}
		})
	}
}

// A release whose newest revision was made by another tool is not touched without consent.
func TestWhatAnotherToolMadeIsLeft(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	byHand, byFleet := release.Creator{Name: "Helm"}, release.Creator{Name: "Fleet's agent (mgmt/web)", Fleet: true}
	write := func(r *run.Request) { r.Write = []target.Deployment{deployment("c1", "web", "v1-b")} }
	remove := func(r *run.Request) { r.Remove = []deploy.Key{key("c1", "web")} }
	all := deploy.Consent{All: true}
	tests := map[string]struct {
		creator release.Creator
		change  func(*run.Request)
		consent deploy.Consent
		failed  []string
		names   string // in the error or in the notice
		did     []string
	}{
		"changed by hand, written":                             {creator: byHand, change: write, failed: []string{"c1/web deploying"}, names: "created by Helm"},
		"changed by hand, removed":                             {creator: byHand, change: remove, failed: []string{"c1/web removing"}, names: "created by Helm"},
		"changed by hand, written with consent":                {creator: byHand, change: write, consent: all, did: []string{"upgrade ns/web"}},
		"changed by hand, removed with consent":                {creator: byHand, change: remove, consent: all, did: []string{"uninstall ns/web"}},
		"changed by hand, written with consent to it":          {creator: byHand, change: write, consent: consent(t, "c?/web"), did: []string{"upgrade ns/web"}},
		"changed by hand, removed with consent to it":          {creator: byHand, change: remove, consent: consent(t, "c1/*"), did: []string{"uninstall ns/web"}},
		"changed by hand, written with consent to another one": {creator: byHand, change: write, consent: consent(t, "c1/api", "c2/*"), failed: []string{"c1/web deploying"}, names: "created by Helm"},
		"changed by hand, removed with consent to another one": {creator: byHand, change: remove, consent: consent(t, "c2/web"), failed: []string{"c1/web removing"}, names: "created by Helm"},
		"taken back by Fleet, written":                         {creator: byFleet, change: write, failed: []string{"c1/web deploying"}, names: "Fleet's agent (mgmt/web)"},
		"taken back by Fleet, removed":                         {creator: byFleet, change: remove, failed: []string{"c1/web removing"}, names: "Fleet's agent (mgmt/web)"},
		"made by something unreadable, removed":                {change: remove, failed: []string{"c1/web removing"}, names: "created by another tool"},
		"taken back by Fleet, taken once more":                 {creator: byFleet, change: write, consent: all, did: []string{"upgrade ns/web"}},
		"taken back by Fleet, consent to remove":               {creator: byFleet, change: remove, consent: all, did: []string{"uninstall ns/web"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1")
			clusters["c1"].creator = test.creator
			there := deployed(web)
			there.Revision = 2 // The labels are copied to the new revision.
			clusters["c1"].put(there)
			asked := request(map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(web)})
			asked.Settings.Consent = test.consent
			test.change(&asked)
			outcome := clusters.runner().Apply(t.Context(), asked)

			if diff := cmp.Diff(test.failed, failed(outcome.Failures), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.did, clusters["c1"].did(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			var texts []string
			for _, failure := range outcome.Failures {
				texts = append(texts, failure.Err.Error())
			}
			for _, notice := range outcome.Notices {
				texts = append(texts, notice.LeftTo)
			}
			if text := strings.Join(texts, "\n"); !strings.Contains(text, test.names) {
				t.Errorf("says %q, want %q in it", text, test.names)
			}
		})
	}
}

// If another target of this owner still has a release, the apply waits: that target can be about
// to remove the release in the same apply.
func TestARemovalByAnotherTargetIsAwaited(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	for _, removed := range []bool{true, false} {
		t.Run(map[bool]string{true: "it is removed", false: "it stays"}[removed], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clusters := newFleet("c1")
				there := deployed(web)
				there.Mark.Target, there.Mark.Instance = "loser", "l"
				clusters["c1"].put(there)
				asked := request(nil)
				asked.Write = []target.Deployment{web}
				if removed {
					go func() {
						<-time.After(20 * time.Second)
						clusters["c1"].mu.Lock()
						defer clusters["c1"].mu.Unlock()
						delete(clusters["c1"].releases, "ns/web")
					}()
				}
				outcome := clusters.runner().Apply(t.Context(), asked)
				var want []string
				if !removed {
					want = []string{"c1/web deploying"}
				}
				if diff := cmp.Diff(want, failed(outcome.Failures), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("failures (-want +got):\n%s", diff)
				}
				if got := clusters["c1"].releases["ns/web"].Mark.Instance; (got == instance) != removed {
					t.Errorf("the release is of instance %q", got)
				}
			})
		})
	}
}

// A target that loses a release leaves it to the target that has adopted it with the same key.
func TestAnAdoptedReleaseIsLeft(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	clusters := newFleet("c1")
	there := deployed(web)
	there.Mark.AdoptionKey = "k"
	clusters["c1"].put(signed(there, proofOn("c1")))
	gainer, loser := request(nil), request(map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(web)})
	gainer.TargetIdentity = deploy.TargetIdentity{Owner: owner, Target: "gainer", Instance: "g", AdoptionKey: "k", Key: recordKey}
	gainer.Create, gainer.Write = true, []target.Deployment{web}
	loser.AdoptionKey, loser.Remove = "k", []deploy.Key{key("c1", "web")}
	for _, asked := range []run.Request{gainer, loser} {
		expectNoFailures(t, clusters.runner().Apply(t.Context(), asked).Failures)
	}
	left := clusters["c1"].releases["ns/web"]
	if left.Revision != 1 || left.Mark.Instance != "g" {
		t.Errorf("left is revision %d of instance %q, want 1 of the gainer", left.Revision, left.Mark.Instance)
	}
	if diff := cmp.Diff([]string{"adopt ns/web"}, clusters["c1"].did()); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

// Without an adoption key, a removal knows what another target has taken over only if that target
// belongs to the same process.
func TestARemovalLeavesWhatATargetOfThisProcessTookOver(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	var registry plan.Registry
	registry.RecordKey(recordKey)
	registry.RecordKey("key of the gainer")
	taken := by(deployed(web), "gainer")
	taken.Revision, taken.Mark.Revision = 2, 2
	tests := map[string]struct {
		there release.Observed
		keys  func() []string
		fails []string
	}{
		"of this process":    {there: signed(taken, release.Proof{Key: "key of the gainer", UID: "uid-c1"}), keys: registry.Keys},
		"of another process": {there: signed(taken, release.Proof{Key: "another key", UID: "uid-c1"}), keys: registry.Keys, fails: []string{"c1/web removing"}},
		"of another cluster": {there: signed(taken, release.Proof{Key: "key of the gainer", UID: "uid-c2"}), keys: registry.Keys, fails: []string{"c1/web removing"}},
		"of nobody":          {there: taken, fails: []string{"c1/web removing"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1")
			clusters["c1"].put(test.there)
			asked := request(map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(web)})
			asked.Remove, asked.Keys = []deploy.Key{key("c1", "web")}, test.keys
			outcome := clusters.runner().Apply(t.Context(), asked)
			if diff := cmp.Diff(test.fails, failed(outcome.Failures), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string(nil), clusters["c1"].did(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			if got, want := len(outcome.Notices) == 1, len(test.fails) == 0; got != want {
				t.Errorf("notices: %v", outcome.Notices)
			}
		})
	}
}

// Two names of one cluster with one release stop an apply before its first write, if nobody has read
// one of them before. Then no plan could report them.
func TestApplyStopsForTwoNamesOfOneCluster(t *testing.T) {
	t.Parallel()
	web := []target.Deployment{deployment("a", "web", "v1-a"), deployment("b", "web", "v1-a"), deployment("c", "web", "v1-a")}
	tests := map[string]struct {
		write  []target.Deployment
		change func(*run.Request)
		want   [][]string
	}{
		"a create":              {write: web, change: func(r *run.Request) { r.Create = true }, want: [][]string{{"a", "b"}}},
		"a create with consent": {write: web, change: func(r *run.Request) { r.Create, r.Settings.Consent.All = true, true }, want: [][]string{{"a", "b"}}},
		"a new cluster":         {write: web, change: func(r *run.Request) { r.UIDs = map[string]string{"a": "uid-one", "c": "uid-two"} }, want: [][]string{{"a", "b"}}},
		"a new name of an unchanged one": {write: web[1:2], change: func(r *run.Request) {
			r.UIDs, r.Unchanged = map[string]string{"a": "uid-one"}, []rollout.Step{{Deployment: web[0]}}
		}, want: [][]string{{"a", "b"}}},
		"different releases":               {write: []target.Deployment{web[0], deployment("b", "db", "v1-a")}},
		"a name that replaces another one": {write: web[1:2], change: func(r *run.Request) { r.UIDs = map[string]string{"a": "uid-one"} }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := newMemoryCluster("one")
			clusters := fleet{"a": one, "b": one, "c": newMemoryCluster("two")}
			asked := request(nil)
			asked.Write = test.write
			if test.change != nil {
				test.change(&asked)
			}
			outcome := clusters.runner().Apply(t.Context(), asked)
			if diff := cmp.Diff(test.want, outcome.Overlapping); diff != "" {
				t.Errorf("overlapping (-want +got):\n%s", diff)
			}
			written := len(one.did())+len(clusters["c"].did()) > 0
			if written != (test.want == nil) {
				t.Errorf("operations: %v", one.did())
			}
		})
	}
}
