package state_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func keyed(cluster, name string) deploy.Key { return deploy.Key{Cluster: cluster, Bundle: name} }

func deployed(cluster, name string) target.Deployment {
	return target.Deployment{Cluster: cluster, Bundle: &bundle.Bundle{Name: name}, Release: name, Namespace: "ns", Digest: "new"}
}

// What a state shows of records is read back as these records. Lost releases stand beside them.
func TestShownOfRecords(t *testing.T) {
	t.Parallel()
	records := map[deploy.Key]deploy.Record{
		keyed("a", "web"): {
			Release: "web", Namespace: "ns", Chart: "nginx", Version: "1", Digest: "d", State: status.ErrApplied, Message: "failed",
			Objects: map[string]string{"Pod ns/x": "1"}, Counts: status.Counts{Ready: 1},
			Known: release.Known{Release: "web", Namespace: "ns", Revision: 2},
			Left:  []release.Known{{Release: "old", Namespace: "ns"}},
		},
	}
	lost := state.LostReleases{
		keyed("b", "web"): {Release: "web", Namespace: "ns"},
		keyed("a", "web"): {Release: "another", Namespace: "ns"}, // It is there again.
	}
	shown := state.ShownOf(records, lost)
	if diff := cmp.Diff(records, shown.DeployRecords(state.DriftState{})); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(state.LostReleases{keyed("b", "web"): lost[keyed("b", "web")]}, shown.Lost()); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[deploy.Key]string{keyed("a", "web"): "d"}, shown.Digests()); diff != "" {
		t.Errorf("digests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[deploy.Key]map[string]string{keyed("a", "web"): {"Pod ns/x": "1"}}, shown.Objects()); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// What is written is known as far as it was rendered.
func TestShownPlan(t *testing.T) {
	t.Parallel()
	prior := map[deploy.Key]deploy.Record{
		keyed("a", "kept"): {Release: "kept", Namespace: "ns", State: status.Ready, Objects: map[string]string{"Pod ns/k": "1"}},
		keyed("a", "web"):  {Release: "web", Namespace: "ns", State: status.Ready},
		keyed("a", "gone"): {Release: "gone", Namespace: "ns", State: status.Ready},
	}
	unpinned := deployed("b", "web")
	unpinned.Unpinned = true
	planned := &deploy.Plan{
		Change:     deploy.Change{Keep: map[deploy.Key]bool{keyed("a", "kept"): true}, Write: []target.Deployment{deployed("a", "web"), unpinned}},
		Renderings: map[deploy.Key]release.Rendering{keyed("a", "web"): {Chart: "nginx", Version: "2"}},
		Objects:    map[deploy.Key]map[string]string{keyed("a", "web"): {"Pod ns/x": "2"}},
	}
	lost := state.LostReleases{keyed("b", "web"): {Release: "web", Namespace: "ns"}, keyed("c", "db"): {Release: "db", Namespace: "ns"}}
	shown := state.ShownPlan(planned, prior, lost)
	want := map[string]state.Deployment{
		"a/kept": {Release: "kept", Namespace: "ns", State: "Ready", Objects: map[string]string{"Pod ns/k": "1"}},
		"a/web":  {Release: "web", Namespace: "ns", Chart: "nginx", Version: "2", Digest: "new", Objects: map[string]string{"Pod ns/x": "2"}, IsPlanned: true},
		"b/web":  {Release: "web", Namespace: "ns", Digest: "new", IsPlanned: true, DigestUnknown: true, ObjectsUnknown: true},
	}
	if diff := cmp.Diff(want, shown.Deployments); diff != "" {
		t.Errorf("deployments (-want +got):\n%s", diff)
	}
	for name, known := range map[string]bool{"a/kept": true, "a/web": false, "b/web": false, "c/db": true, "a/gone": false} {
		if _, ok := shown.Records[name]; ok != known {
			t.Errorf("record of %s is known: %t", name, ok)
		}
	}
	if !shown.Writes("a/web") || shown.Writes("a/kept") || shown.Writes("a/gone") {
		t.Error("what is written is mixed up")
	}
	if shown.LeavesOut(keyed("a", "kept")) || !shown.LeavesOut(keyed("a", "gone")) || (state.Shown{IsUnknown: true}).LeavesOut(keyed("a", "gone")) {
		t.Error("what is left out is mixed up")
	}
}

func TestMarking(t *testing.T) {
	t.Parallel()
	known := func(value string) state.Optional[string] { return state.Optional[string]{Value: value} }
	missing, unknown := state.Optional[string]{IsMissing: true}, state.Optional[string]{Unknown: true}
	yes, no, open := state.Optional[bool]{Value: true}, state.Optional[bool]{}, state.Optional[bool]{Unknown: true}
	before := state.ReleaseLabels{Name: known("all"), AdoptionKey: missing, PlanObjects: yes, ShowsObjects: true, Exists: true}
	hidden := before
	hidden.ShowsObjects = false
	tests := map[string]struct {
		before, now        state.ReleaseLabels
		changes, mayChange bool
	}{
		"as before":             {before: before, now: state.ReleaseLabels{Name: known("all"), AdoptionKey: missing, PlanObjects: yes}},
		"another name":          {before: before, now: state.ReleaseLabels{Name: known("other"), AdoptionKey: missing, PlanObjects: yes}, changes: true},
		"another key":           {before: before, now: state.ReleaseLabels{Name: known("all"), AdoptionKey: known("key"), PlanObjects: yes}, changes: true},
		"an empty key":          {before: before, now: state.ReleaseLabels{Name: known("all"), AdoptionKey: known(""), PlanObjects: yes}, changes: true},
		"unknown key":           {before: before, now: state.ReleaseLabels{Name: known("all"), AdoptionKey: unknown, PlanObjects: yes}, changes: true, mayChange: true},
		"objects shown now":     {before: hidden, now: state.ReleaseLabels{Name: known("all"), AdoptionKey: missing, PlanObjects: yes}, changes: true},
		"objects perhaps shown": {before: hidden, now: state.ReleaseLabels{Name: known("all"), AdoptionKey: missing, PlanObjects: open}, changes: true, mayChange: true},
		"objects still hidden":  {before: hidden, now: state.ReleaseLabels{Name: known("all"), AdoptionKey: missing, PlanObjects: no}},
		"objects hidden now":    {before: before, now: state.ReleaseLabels{Name: known("all"), AdoptionKey: missing, PlanObjects: no}},
		"created":               {now: state.ReleaseLabels{Name: known("all"), AdoptionKey: unknown, PlanObjects: yes}, changes: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.now.Changes(test.before); got != test.changes {
				t.Errorf("changes: %t", got)
			}
			if got := test.now.MayChange(test.before); got != test.mayChange {
				t.Errorf("may change: %t", got)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	records := map[deploy.Key]deploy.Record{
		keyed("a", "web"): {State: status.Ready, Counts: status.Counts{Ready: 2}},
		keyed("a", "db"):  {State: status.ErrApplied, Counts: status.Counts{Unknown: 1}},
		keyed("b", "web"): {State: status.Ready, Counts: status.Counts{Ready: 2}},
		keyed("c", "web"): {State: status.NotReady, Counts: status.Counts{NotReady: 2}},
	}
	want := state.Counts{
		ReadyClusters: "1/3", Ready: 2, Failed: 1, Objects: status.Counts{Ready: 4, NotReady: 2, Unknown: 1},
		Clusters: map[string]status.Counts{"a": {Ready: 2, Unknown: 1}, "b": {Ready: 2}, "c": {NotReady: 2}},
	}
	if diff := cmp.Diff(want, state.CountsOf(records)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	change := deploy.Change{
		Keep:   map[deploy.Key]bool{keyed("a", "web"): true, keyed("a", "db"): true, keyed("b", "web"): true, keyed("c", "web"): true},
		Remove: []deploy.Key{keyed("b", "db"), keyed("d", "web")}, Write: []target.Deployment{deployed("c", "db"), deployed("e", "web")},
	}
	if diff := cmp.Diff(map[string]bool{"a": true, "b": false, "c": false, "e": false}, state.ClustersAfter(change)); diff != "" {
		t.Errorf("clusters after (-want +got):\n%s", diff)
	}
	if got := state.FailedAfter(records, change); got != 1 {
		t.Errorf("%d have failed, want 1", got)
	}
}

func TestLostReleasesOfAnApply(t *testing.T) {
	t.Parallel()
	lost := state.LostReleases{keyed("a", "web"): {Release: "web"}, keyed("a", "db"): {Release: "db"}}
	leftOut := map[deploy.Key]release.Known{keyed("b", "web"): {Release: "held"}}
	got := state.WantedReleases(lost, []target.Deployment{deployed("a", "web")}, leftOut)
	if diff := cmp.Diff(state.LostReleases{keyed("a", "web"): {Release: "web"}, keyed("b", "web"): {Release: "held"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A cluster that did not answer lets nothing be found again, and no identity be lost.
func TestRefreshed(t *testing.T) {
	t.Parallel()
	lost := state.LostReleases{keyed("up", "web"): {Release: "web"}, keyed("down", "web"): {Release: "web"}}
	observation := deploy.Observation{
		Records: map[deploy.Key]deploy.Record{keyed("up", "web"): {Release: "web"}, keyed("down", "web"): {Release: "web"}},
		UIDs:    map[string]string{"up": "new"}, Lost: map[deploy.Key]release.Known{},
	}
	before := state.Private{ClusterUIDs: map[string]string{"up": "old", "down": "same"}, Orphans: []deploy.Orphan{{Cluster: "down"}}}
	after, replaced := before.Refreshed(state.Refresh{Observation: observation})
	if diff := cmp.Diff([]string{"up"}, replaced); diff != "" {
		t.Errorf("replaced (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"up": "new", "down": "same"}, after.ClusterUIDs); diff != "" || len(after.Orphans) != 1 {
		t.Errorf("%d orphans, identities (-want +got):\n%s", len(after.Orphans), diff)
	}
	lost.KeepUnreachable(observation)
	if diff := cmp.Diff(map[deploy.Key]release.Known{keyed("down", "web"): {Release: "web"}}, observation.Lost); diff != "" || len(observation.Records) != 1 {
		t.Errorf("%d records, lost (-want +got):\n%s", len(observation.Records), diff)
	}
	records := state.WithUIDs(map[deploy.Key]deploy.Record{keyed("up", "web"): {}, keyed("down", "web"): {Known: release.Known{UID: "own"}}}, after.ClusterUIDs)
	if records[keyed("up", "web")].Known.UID != "new" || records[keyed("down", "web")].Known.UID != "own" {
		t.Errorf("identities of records: %v", records)
	}
}
