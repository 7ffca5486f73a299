package run_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// A release that an apply made and could not save is reported, and is added to no state.
func TestObserveReportsWhatTheStateDoesNotKnow(t *testing.T) {
	t.Parallel()
	web, lost := deployment("a", "web", "v1-a"), deployment("a", "lost", "v1-b")
	found := []deploy.Orphan{{Cluster: "a", Release: "lost", Namespace: "ns", Objects: []string{"ClusterRole/lost", "ConfigMap/ns/lost"}}}
	tests := map[string]struct {
		arrange func(fleet)
		change  func(*release.Observed)
		prior   map[deploy.Key]deploy.Record
		want    []deploy.Orphan
	}{
		"its own":              {want: found},
		"of another instance":  {change: func(o *release.Observed) { *o = signed(by(*o, "j"), proofOn("a")) }},
		"forged":               {change: func(o *release.Observed) { o.Mark.Digest = "other" }},
		"of another cluster":   {change: func(o *release.Observed) { *o = signed(*o, proofOn("b")) }},
		"of nobody":            {change: func(o *release.Observed) { o.Mark = release.Mark{} }},
		"of another tool":      {change: func(o *release.Observed) { o.Revision++ }},
		"history of a removal": {change: func(o *release.Observed) { o.Status = release.StatusUninstalled }},
		"known under another name of the cluster": {
			arrange: func(f fleet) { f["b"] = f["a"] }, prior: map[deploy.Key]deploy.Record{key("b", "lost"): recordOfWrite(lost)},
		},
		"while another cluster does not respond": {
			arrange: func(f fleet) {
				f["b"] = newMemoryCluster("b")
				f["b"].before = func(context.Context, string) error { return unreachable("b") }
			},
			prior: map[deploy.Key]deploy.Record{key("b", "web"): recordOfWrite(web)},
		},
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
			prior := map[deploy.Key]deploy.Record{key("a", "web"): recordOfWrite(web)}
			for known, record := range test.prior {
				record.Known.UID = "" // As in a state of an earlier version.
				prior[known] = record
			}
			got := clusters.runner().Observe(t.Context(), identity(), deploy.DriftRelease, prior)
			if diff := cmp.Diff(test.want, got.Orphans, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("orphans (-want +got):\n%s", diff)
			}
			if len(got.Records) != len(prior) {
				t.Errorf("%d records, want %d", len(got.Records), len(prior))
			}
		})
	}
}

// A refresh reports a record that the target did not write. Nothing of it is stored.
func TestObserveVerifiesRecords(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	elsewhere := recordOfWrite(web)
	elsewhere.Known.UID = "uid-of-another"
	killed := recordOfWrite(web)
	killed.Digest, killed.Known.Digest = "v1-before", "v1-before"
	after := killed
	after.Digest, after.Known.Revision = "v1-a", 2
	forged := recordOfWrite(web)
	forged.State, forged.Digest, forged.Message = status.Modified, "", "the release record was changed, so its hooks will not run"
	unread := forged
	unread.Counts = forged.Counts.Unseen()
	others := unread
	others.Message = "the newest revision was created by another tool"
	tests := map[string]struct {
		prior     deploy.Record
		change    func(*release.Observed)
		content   bool // It was changed.
		confirmed bool
		want      []deploy.Record
		fails     []string
	}{
		"as it was written": {prior: recordOfWrite(web), want: []deploy.Record{recordOfWrite(web)}},
		"of a killed apply": {prior: killed, change: func(o *release.Observed) {
			o.Revision, o.Mark.Revision = 2, 2
			*o = signed(*o, proofOn("c1"))
		}, want: []deploy.Record{after}},
		"with other content":   {prior: recordOfWrite(web), content: true, want: []deploy.Record{forged}},
		"with the next digest": {prior: recordOfWrite(web), change: func(o *release.Observed) { o.Mark.Digest = "v1-b" }, want: []deploy.Record{unread}},
		"a newer one, forged": {prior: recordOfWrite(web), change: func(o *release.Observed) {
			o.Revision, o.Mark.Revision = 2, 2
		}, want: []deploy.Record{others}},
		"an older one": {prior: upgraded(recordOfWrite(web)), want: []deploy.Record{upgraded(others)}},
		"on another cluster of this name": {
			prior: elsewhere, want: []deploy.Record{elsewhere}, fails: []string{"c1 reading the cluster"},
		},
		"on another cluster, as configured": {prior: elsewhere, confirmed: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1")
			there := deployed(web)
			if test.change != nil {
				test.change(&there)
			}
			clusters["c1"].put(there)
			clusters["c1"].confirmed = test.confirmed
			clusters["c1"].found["ns/web"] = func(release.Inspection) release.Finding {
				return release.Finding{Ready: 2, RecordChanged: test.content}
			}
			got := clusters.runner().Observe(t.Context(), identity(), deploy.DriftLive, map[deploy.Key]deploy.Record{key("c1", "web"): test.prior})
			if diff := cmp.Diff(test.fails, failed(got.Failures), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, slices.Collect(maps.Values(got.Records)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}
