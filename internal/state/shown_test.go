package state_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func keyed(cluster, name string) deploy.Key { return deploy.Key{Cluster: cluster, Bundle: name} }

func deployed(cluster, name string) target.Deployment {
	return target.Deployment{Cluster: cluster, Bundle: &bundle.Bundle{Name: name}, Release: name, Namespace: "ns", Digest: "new"}
}

// What a state shows of records is read back as these records. Missing releases are among the records.
func TestShownOfRecords(t *testing.T) {
	t.Parallel()
	records := map[deploy.Key]deploy.Record{
		keyed("a", "web"): {
			Release: "web", Namespace: "ns", Chart: "nginx", Version: "1", Digest: "v1-0123456789abcdef", State: status.ErrApplied, Message: "failed",
			Objects: map[string]string{"Pod/ns/x": "1"}, Counts: status.Counts{Ready: 1},
			Known:     release.Known{Release: "web", Namespace: "ns", Revision: 2},
			Leftovers: []release.Known{{Release: "old", Namespace: "ns"}},
		},
		keyed("a", "random"): {
			Release: "random", Namespace: "ns", Chart: "a chart", Version: "1", State: status.Ready, NamesVary: true,
			Objects: map[string]string{"Pod/ns/x-1": "1", "Pod/ns/x-2": "2"}, Counts: status.Counts{Ready: 2}, Known: release.Known{Release: "random", Namespace: "ns"},
		},
	}
	missing := state.MissingReleases{
		keyed("b", "web"): {Release: "web", Namespace: "ns"},
		keyed("a", "web"): {Release: "another", Namespace: "ns"}, // It exists again.
	}
	held := map[deploy.Key]bool{keyed("a", "random"): true, keyed("c", "web"): true, keyed("a", "web"): true}
	shown := state.Contents{Records: records, Missing: missing, Held: held, ShowsObjects: true}.Shown()
	want := state.Shown{
		Deployments: map[string]string{"a/web": "nginx-1 ns/web 01234567", "a/random": "a%20chart-1 ns/random -"},
		Objects:     map[string]string{"a/web Pod/ns/x": "1", "a/random": "2 objects b9ff54bb4dfb"},
		Records:     shown.Records,
		NotReady:    map[string]string{"a/web": "ErrApplied: failed", "a/random": "WaitApplied", "c/web": "WaitApplied"},
		Clusters:    map[string]string{"a": "0/2 deployments, 3/3 objects", "c": "0/1 deployment, 0/0 objects"},
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	decoded := state.Decode(shown, state.Planned{Held: held}, state.DriftState{})
	if diff := cmp.Diff(records, decoded.Records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(state.MissingReleases{keyed("b", "web"): missing[keyed("b", "web")]}, decoded.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(held, decoded.Held); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[deploy.Key]map[string]string{keyed("a", "web"): {"Pod/ns/x": "1"}}, shown.PlannedObjects()); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// A record that cannot be read proves nothing: texts for people are not read in its place. The provider
// reports it, and does nothing.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	shown := state.Shown{Deployments: map[string]string{"a/web": "web-1.0.0 shop/web ac881d87"}, Records: map[string]string{"a/web": "{"}}
	decoded := state.Decode(shown, state.Planned{}, state.DriftState{})
	if diff := cmp.Diff(map[deploy.Key]deploy.Record{keyed("a", "web"): {}}, decoded.Records); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a/web"}, decoded.Damaged); diff != "" {
		t.Errorf("damaged (-want +got):\n%s", diff)
	}
}

// charts renders bundles without clusters.
type charts map[string]release.Rendering

func (c charts) Render(_ context.Context, d target.Deployment) (release.Rendering, error) {
	return c[d.Bundle.Name], nil
}
func (charts) DependsOnCluster(target.Deployment) (bool, error) { return false, nil }
func (charts) BringsKinds(target.Deployment) (bool, error)      { return false, nil }
func (charts) CRDDocuments(target.Deployment, release.Rendering) ([]diff.Document, error) {
	return nil, nil
}
func (charts) Locate(target.Deployment, string, string, string) (string, int) { return "", 0 }

type reach struct{}

func (reach) Has(string) bool    { return true }
func (reach) Check(string) error { return nil }

// A written deployment is shown as ready if the apply waits for it, with its objects if they were
// rendered. A kept deployment is shown as before.
func TestShownPlan(t *testing.T) {
	t.Parallel()
	rendering := release.Rendering{Chart: "nginx", Version: "2", Objects: []diff.Object{{Kind: "Pod", Namespace: "ns", Name: "x", Hash: "2"}}}
	record := func(name, digest string, state status.State) deploy.Record {
		return deploy.Record{
			Release: name, Namespace: "ns", Chart: "nginx", Version: "1", Digest: digest, State: state, Message: "why", Objects: map[string]string{"Pod/ns/k": "1"},
			Counts: status.Counts{Ready: 1}, Known: release.Known{Release: name, Namespace: "ns"},
		}
	}
	waiting := deployed("a", "web")
	held := deployed("a", "held")
	held.Paused = true
	tests := map[string]struct {
		wanted []target.Deployment
		charts charts
		wait   bool
		want   state.Shown
	}{
		"a change that is waited for": {
			wanted: []target.Deployment{waiting, deployed("b", "kept")}, charts: charts{"web": rendering}, wait: true,
			want: state.Shown{
				Deployments: map[string]string{"a/web": "nginx-2 ns/web new", "b/kept": "nginx-1 ns/kept new"},
				Objects:     map[string]string{"a/web Pod/ns/x": "2", "b/kept Pod/ns/k": "1"},
				NotReady:    map[string]string{"b/kept": "NotReady: why"},
				Clusters:    map[string]string{"a": "1/1 deployment, 1/1 object", "b": "as before"},
			},
		},
		"a change that is not waited for": {
			wanted: []target.Deployment{waiting, deployed("b", "kept")}, charts: charts{"web": rendering},
			want: state.Shown{
				Deployments: map[string]string{"a/web": "nginx-2 ns/web new", "b/kept": "nginx-1 ns/kept new"},
				Objects:     map[string]string{"a/web Pod/ns/x": "2", "b/kept Pod/ns/k": "1"},
				NotReady:    map[string]string{"b/kept": "NotReady: why"}, NotReadyUnknown: true,
				Clusters: map[string]string{"a": "", "b": "as before"},
			},
		},
		"objects that can differ": {
			wanted: []target.Deployment{waiting, deployed("b", "kept")}, charts: charts{"web": {Chart: "nginx", Version: "2", Irreproducible: "it is random", NamesVary: true}}, wait: true,
			want: state.Shown{
				Deployments: map[string]string{"a/web": "nginx-2 ns/web new", "b/kept": "nginx-1 ns/kept new"},
				Objects:     map[string]string{"a/web": "", "b/kept Pod/ns/k": "1"},
				NotReady:    map[string]string{"b/kept": "NotReady: why"},
				Clusters:    map[string]string{"a": "", "b": "as before"},
			},
		},
		"one object that can differ": {
			wanted: []target.Deployment{waiting, deployed("b", "kept")}, wait: true,
			charts: charts{"web": {Chart: "nginx", Version: "2", Objects: rendering.Objects, Irreproducible: "it is random", Varying: map[string]bool{"Pod/ns/x": true}}},
			want: state.Shown{
				Deployments: map[string]string{"a/web": "nginx-2 ns/web new", "b/kept": "nginx-1 ns/kept new"},
				Objects:     map[string]string{"a/web Pod/ns/x": "", "b/kept Pod/ns/k": "1"},
				NotReady:    map[string]string{"b/kept": "NotReady: why"},
				Clusters:    map[string]string{"a": "1/1 deployment, 1/1 object", "b": "as before"},
			},
		},
		"one that is held and not installed": {
			wanted: []target.Deployment{waiting, held, deployed("b", "kept")}, charts: charts{"web": rendering}, wait: true,
			want: state.Shown{
				Deployments: map[string]string{"a/web": "nginx-2 ns/web new", "b/kept": "nginx-1 ns/kept new"},
				Objects:     map[string]string{"a/web Pod/ns/x": "2", "b/kept Pod/ns/k": "1"},
				NotReady:    map[string]string{"a/held": "WaitApplied", "b/kept": "NotReady: why"},
				Clusters:    map[string]string{"a": "1/2 deployments, 1/1 object", "b": "as before"},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prior := map[deploy.Key]deploy.Record{
				keyed("b", "kept"): record("kept", "new", status.NotReady), keyed("a", "web"): record("web", "old", status.Ready), keyed("c", "gone"): record("gone", "old", status.Ready),
			}
			missing := state.MissingReleases{keyed("d", "db"): {Release: "db", Namespace: "ns"}}
			planned := plan.New(t.Context(), plan.Desired{Deployments: test.wanted}, prior, plan.Facts{Charts: test.charts, Reach: reach{}, Wait: test.wait})
			shown := state.ShownPlan(&planned, &state.Contents{Summaries: map[string]string{"a": "before", "b": "as before", "c": "before"}}, missing, true)
			if diff := cmp.Diff(test.want, shown, cmpopts.IgnoreFields(state.Shown{}, "Records")); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			known := map[string]bool{}
			for name, text := range shown.Records {
				known[name] = text != ""
			}
			if diff := cmp.Diff(map[string]bool{"a/web": false, "b/kept": true, "d/db": true}, known); diff != "" {
				t.Errorf("known records (-want +got):\n%s", diff)
			}
			decided := state.DecodePlanned(state.PlannedOf(&planned).Encode())
			if diff := cmp.Diff(map[deploy.Key]state.PlannedWrite{keyed("a", "web"): {Digest: "new", Ready: test.wait}}, decided.Write); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(planned.HeldKeys(), decided.Held); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
		})
	}
}

// Terraform plans a create again before its apply. The first plan shows no objects if the second
// one can show others. Names of objects that can differ after each apply are shown as in the plan
// of a change.
func TestShownPlanOfACreate(t *testing.T) {
	t.Parallel()
	known := release.Rendering{Chart: "nginx", Version: "2", Objects: []diff.Object{{Kind: "Pod", Namespace: "ns", Name: "x", Hash: "2"}}}
	open := release.Rendering{Chart: "nginx", Version: "2", Irreproducible: "it asks for a.example.com/v1", NamesVary: true}
	asking := open
	asking.NamesDependOnCluster = true
	tests := map[string]struct {
		of          release.Rendering
		showsNone   bool
		wantObjects map[string]string
	}{
		"known":                    {of: known, wantObjects: map[string]string{"a/db Pod/ns/x": "2", "a/web Pod/ns/x": "2"}},
		"other names each time":    {of: open, wantObjects: map[string]string{"a/db Pod/ns/x": "2", "a/web": ""}},
		"names ask the cluster":    {of: asking, showsNone: true},
		"content asks the cluster": {of: release.Rendering{Chart: "nginx", Version: "2", Objects: known.Objects, Varying: map[string]bool{"Pod/ns/x": true}, Irreproducible: "it asks", DependsOnCluster: true}, wantObjects: map[string]string{"a/db Pod/ns/x": "2", "a/web Pod/ns/x": ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planned := plan.New(t.Context(), plan.Desired{Deployments: []target.Deployment{deployed("a", "web"), deployed("a", "db")}}, nil,
				plan.Facts{Charts: charts{"web": test.of, "db": known}, Reach: reach{}, Wait: true})
			shown := state.ShownPlan(&planned, nil, nil, true)
			if diff := cmp.Diff(test.wantObjects, shown.Objects); diff != "" || shown.ObjectsUnknown != test.showsNone {
				t.Errorf("shows none: %t, objects (-want +got):\n%s", shown.ObjectsUnknown, diff)
			}
			if hidden := state.ShownPlan(&planned, nil, nil, false); hidden.ObjectsUnknown {
				t.Error("a target without objects has unknown ones")
			}
		})
	}
}

// The result of an apply is compared with what its plan showed.
func TestDifferences(t *testing.T) {
	t.Parallel()
	plan := state.Shown{
		Deployments: map[string]string{"a/web": "web-1 ns/web 1", "a/db": ""}, Objects: map[string]string{"a/web Pod/ns/x": "1", "a/db": ""},
		NotReady: map[string]string{}, Clusters: map[string]string{"a": ""},
	}
	same := state.Shown{
		Deployments: map[string]string{"a/web": "web-1 ns/web 1", "a/db": "db-1 ns/db 2"}, Objects: map[string]string{"a/web Pod/ns/x": "1", "a/db": "2 objects 1"},
		NotReady: map[string]string{}, Clusters: map[string]string{"a": "2/2 deployments, 3/3 objects"},
	}
	if found := same.Differences(plan); len(found) > 0 {
		t.Errorf("found %q", found)
	}
	other := same
	other.Objects = map[string]string{"a/web Pod/ns/x": "2", "a/db Pod/ns/y": "1"}
	other.NotReady = map[string]string{"a/web": "NotReady"}
	want := []string{
		`not_ready["a/web"] is "NotReady" and was not planned`,
		`objects["a/db Pod/ns/y"] is "1" and was not planned`,
		`objects["a/db"] is "", planned was ""`,
		`objects["a/web Pod/ns/x"] is "2", planned was "1"`,
	}
	if diff := cmp.Diff(want, other.Differences(plan)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	plan.NotReadyUnknown = true
	if diff := cmp.Diff(want[1:], other.Differences(plan)); diff != "" {
		t.Errorf("with not_ready unknown (-want +got):\n%s", diff)
	}
	if found := other.Differences(state.Shown{IsUnknown: true}); len(found) > 0 {
		t.Errorf("of a plan that knows nothing: %q", found)
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

func TestMissingReleasesOfAnApply(t *testing.T) {
	t.Parallel()
	missing := state.MissingReleases{keyed("a", "web"): {Release: "web"}, keyed("a", "db"): {Release: "db"}}
	leftOut := map[deploy.Key]release.Known{keyed("b", "web"): {Release: "held"}}
	got := state.WantedReleases(missing, []target.Deployment{deployed("a", "web")}, leftOut)
	if diff := cmp.Diff(state.MissingReleases{keyed("a", "web"): {Release: "web"}, keyed("b", "web"): {Release: "held"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A missing release on a cluster that did not respond stays missing, and the cluster keeps its identity.
func TestRefreshed(t *testing.T) {
	t.Parallel()
	missing := state.MissingReleases{keyed("up", "web"): {Release: "web"}, keyed("down", "web"): {Release: "web"}}
	observation := deploy.Observation{
		Records: map[deploy.Key]deploy.Record{keyed("up", "web"): {Release: "web"}, keyed("down", "web"): {Release: "web"}},
		UIDs:    map[string]string{"up": "new"}, Missing: map[deploy.Key]release.Known{},
	}
	before := state.Private{ClusterUIDs: map[string]string{"up": "old", "down": "same"}, Orphans: []deploy.Orphan{{Cluster: "down"}}}
	after, replaced := before.Refreshed(state.Refresh{Observation: observation})
	if diff := cmp.Diff([]string{"up"}, replaced); diff != "" {
		t.Errorf("replaced (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"up": "new", "down": "same"}, after.ClusterUIDs); diff != "" || len(after.Orphans) != 1 {
		t.Errorf("%d orphans, identities (-want +got):\n%s", len(after.Orphans), diff)
	}
	missing.KeepUnreachable(observation)
	if diff := cmp.Diff(map[deploy.Key]release.Known{keyed("down", "web"): {Release: "web"}}, observation.Missing); diff != "" || len(observation.Records) != 1 {
		t.Errorf("%d records, missing (-want +got):\n%s", len(observation.Records), diff)
	}
}
