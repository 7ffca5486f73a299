package preview

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A take-over shows what changes in the live objects. Texts that another target can have written
// from its configuration are hidden.
func TestAddTakenOver(t *testing.T) {
	t.Parallel()
	document := func(content string) []diff.Document {
		return []diff.Document{{
			Object: diff.Object{Kind: "ConfigMap", Name: "web"}, Content: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{},"data":` + content + `}`,
		}}
	}
	live, wanted := document(`{"key":"live","number":5}`), document(`{"key":"wanted","number":2}`)
	ofHelm := &release.Observed{Release: "web", Namespace: "ns", Revision: 1, Status: release.StatusDeployed}
	ofTarget := &release.Observed{Release: "web", Namespace: "ns", Revision: 1, Status: release.StatusDeployed, Mark: release.Mark{Owner: "o", Target: "other"}}
	tests := map[string]struct {
		mode     plan.DiffMode
		observed *release.Observed
		compared release.Compared
		hides    bool
		diffs    int
		says     []string
		objects  map[string]bool
		missing  bool
	}{
		"a release of Helm": {
			observed: ofHelm, compared: release.Compared{Before: live, After: wanted}, diffs: 1, objects: map[string]bool{"ConfigMap/web": true},
			says: []string{"it is taken over, and compared with the live objects", "- key: live", "- number: 5", "+ key: wanted", "+ number: 2"},
		},
		"a release of another target": {
			observed: ofTarget, compared: release.Compared{Before: live, After: wanted}, diffs: 1, objects: map[string]bool{"ConfigMap/web": true},
			says: []string{"- key: (from HCL)", "- number: 5", "+ key: wanted"},
		},
		"an object of no release": {
			compared: release.Compared{Before: live, After: wanted}, diffs: 1, objects: map[string]bool{"ConfigMap/web": true}, says: []string{"- key: (from HCL)"},
		},
		"as wanted":       {observed: ofHelm, compared: release.Compared{Before: wanted, After: wanted}, objects: map[string]bool{"ConfigMap/web": false}},
		"without objects": {observed: ofHelm, compared: release.Compared{After: wanted}, objects: map[string]bool{}},
		"secret input":    {observed: ofHelm, compared: release.Compared{Before: live, After: wanted}, hides: true, objects: map[string]bool{"ConfigMap/web": true}},
		"secret input, in full": {
			mode: plan.DiffRendered, observed: ofHelm, compared: release.Compared{Before: live, After: wanted}, hides: true, diffs: 1, objects: map[string]bool{"ConfigMap/web": true},
			says: []string{"~ ConfigMap/web", "its objects is not shown"},
		},
		"cannot be read": {observed: ofHelm, compared: release.Compared{Err: errors.New("no route")}, missing: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.mode == "" {
				test.mode = plan.DiffAuto
			}
			key := deploy.Key{Cluster: "a", Bundle: "web"}
			of := target.Deployment{Cluster: "a", Bundle: &bundle.Bundle{Name: "web"}, Release: "web", Namespace: "ns"}
			c := &diffPreview{
				Request: Request{Diff: test.mode, TakenOver: map[deploy.Key]bool{key: true}},
				listed:  map[deploy.Key]map[string]string{key: {}}, compared: map[[32]byte][]diff.ObjectChange{},
			}
			c.report.TakenOver = map[deploy.Key]map[string]bool{key: nil}
			snapshot := release.Snapshot{Releases: map[string]release.Observed{}}
			if test.observed != nil {
				snapshot.Releases[release.Key("ns", "web")] = *test.observed
			}
			c.addCompared(comparedChange{key: key, wanted: &of, rendering: release.Rendering{Documents: wanted, HidesContent: test.hides}}, snapshot, test.compared)
			if diff := cmp.Diff(map[deploy.Key]map[string]bool{key: test.objects}, c.report.TakenOver); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if len(c.report.Diffs) != test.diffs || c.report.NotCompared.IsEmpty() == test.missing {
				t.Fatalf("%d diffs, want %d; not compared: %s", len(c.report.Diffs), test.diffs, c.report.NotCompared.List())
			}
			for _, shown := range c.report.Diffs {
				notes, text := shown.Parts()
				for _, want := range test.says {
					if all := strings.Join(append(notes, text), "\n"); !strings.Contains(all, want) {
						t.Errorf("no %q in:\n%s", want, all)
					}
				}
			}
		})
	}
}

// A deployment in the state is compared with its record, also if it takes an object over.
func TestTakeOverIsNew(t *testing.T) {
	t.Parallel()
	known, added := deploy.Key{Cluster: "a", Bundle: "known"}, deploy.Key{Cluster: "a", Bundle: "added"}
	c := &diffPreview{prior: map[deploy.Key]deploy.Record{known: {}}, Request: Request{TakenOver: map[deploy.Key]bool{known: true, added: true}}}
	tests := map[string]struct {
		change comparedChange
		want   bool
	}{
		"in the state":     {change: comparedChange{key: known, wanted: &target.Deployment{}}},
		"not in the state": {change: comparedChange{key: added, wanted: &target.Deployment{}}, want: true},
		"takes nothing":    {change: comparedChange{key: deploy.Key{Cluster: "b", Bundle: "added"}, wanted: &target.Deployment{}}},
		"removed":          {change: comparedChange{key: added}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.takesOver(test.change); got != test.want {
				t.Errorf("isNew = %t, want %t", got, test.want)
			}
		})
	}
}

func TestTakenOver(t *testing.T) {
	t.Parallel()
	known, added := deploy.Key{Cluster: "a", Bundle: "known"}, deploy.Key{Cluster: "a", Bundle: "added"}
	planned := plan.Plan{Change: plan.Change{
		Write: []target.Deployment{{Cluster: "a", Bundle: &bundle.Bundle{Name: "known"}}, {Cluster: "a", Bundle: &bundle.Bundle{Name: "added"}}, {Cluster: "a", Bundle: &bundle.Bundle{Name: "new"}}},
		Added: 2, Prior: map[deploy.Key]deploy.Record{known: {}},
	}}
	tests := map[string]struct {
		taken map[deploy.Key]bool
		want  string
	}{
		"nothing":   {want: "+2 ~1 -0 =0"},
		"a new one": {taken: map[deploy.Key]bool{added: true}, want: "+1 ~2 -0 =0, 1 taken over"},
		"both":      {taken: map[deploy.Key]bool{known: true, added: true}, want: "+1 ~2 -0 =0, 2 taken over"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := planned.Summary(nil).Counts.TakingOver(takenOver(&planned, OwnershipReport{TakenOver: test.taken}, nil)).String()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}
