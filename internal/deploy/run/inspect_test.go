package run_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// modified returns a finding in which one of two objects differs at one path.
func modified() release.Finding {
	return release.Finding{Ready: 1, Modified: []release.Modification{
		{Object: "ConfigMap ns/web", Differences: []release.Difference{{Path: "data.key", Fingerprint: "f"}}},
	}}
}

const differs = "ConfigMap ns/web differs at data.key"

func TestObserveLive(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	as := func(state status.State, message string, counts status.Counts) *deploy.Record {
		record := recordOfWrite(web)
		record.State, record.Message, record.Counts = state, message, counts
		return &record
	}
	ready := status.Counts{Ready: 2}
	drifted := status.Counts{Ready: 1, Modified: 1}
	failedInspection := release.Finding{Err: &status.UnreachableError{Cluster: "c1", Err: errors.New("reset")}}
	refused := release.Finding{Ready: 1, Refused: map[string]int{"ConfigMap": 1}}
	tests := map[string]struct {
		prior *deploy.Record
		there func(*release.Observed)
		finds release.Finding
		want  *deploy.Record
		fails []string
		blind bool // the objects are not read
	}{
		"as it was":          {finds: release.Finding{Ready: 2}, want: as(status.Ready, "", ready)},
		"modified":           {finds: modified(), want: as(status.Modified, differs, drifted)},
		"still modified":     {prior: as(status.Modified, differs, drifted), finds: modified(), want: as(status.Modified, differs, drifted)},
		"put right by hand":  {prior: as(status.Modified, differs, drifted), finds: release.Finding{Ready: 2}, want: as(status.Ready, "", ready)},
		"no longer ready":    {finds: release.Finding{Ready: 1, NotReady: []release.Unready{{Object: "it", Reason: "slow"}}}, want: as(status.NotReady, "not ready: it is slow", status.Counts{Ready: 1, NotReady: 1})},
		"failed and missing": {there: with(release.StatusFailed), finds: release.Finding{Ready: 1, Missing: []string{"a"}}, want: as(status.ErrApplied, "the last operation failed", status.Counts{Ready: 1, Missing: 1})},
		"cannot be asked":    {finds: failedInspection, want: as(status.Ready, "", ready), fails: []string{"c1/web reading the objects"}},
		"cannot be asked whether it is still modified": {
			prior: as(status.Modified, differs, drifted), finds: failedInspection,
			want: as(status.Modified, differs, drifted), fails: []string{"c1/web reading the objects"},
		},
		"a kind is refused": {finds: refused, want: as(status.Ready, "", status.Counts{Ready: 1, Unknown: 1})},
		"a kind is refused, of what was not ready": {
			prior: as(status.NotReady, "slow", status.Counts{Ready: 1, NotReady: 1}), finds: refused,
			want: as(status.NotReady, "slow", status.Counts{Ready: 1, Unknown: 1}),
		},
		"taken over": {
			there: func(o *release.Observed) { *o = signed(by(*o, "successor"), proofOn("c1")) }, blind: true,
			want: func() *deploy.Record {
				record := as(status.Modified, "the release has another owner", status.Counts{Unknown: 2})
				record.Digest = ""
				return record
			}(),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1")
			there := deployed(web)
			if test.there != nil {
				test.there(&there)
			}
			clusters["c1"].put(there)
			clusters["c1"].found["ns/web"] = func(release.Inspection) release.Finding { return test.finds }
			prior := recordOfWrite(web)
			if test.prior != nil {
				prior = *test.prior
			}

			got := clusters.runner().Observe(t.Context(), identity(), deploy.DriftLive, map[deploy.Key]deploy.Record{key("c1", "web"): prior})

			if diff := cmp.Diff(*test.want, got.Records[key("c1", "web")]); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.fails, failed(got.Failures), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			_, seen := got.Findings[key("c1", "web")]
			if want := !test.blind && len(test.fails) == 0; seen != want {
				t.Errorf("there is a finding: %t, want %t", seen, want)
			}
		})
	}
}

// Without drift, only the existence of releases is checked.
func TestObserveNothingButExistence(t *testing.T) {
	t.Parallel()
	clusters := newFleet("c1")
	web, gone := deployment("c1", "web", "v1-a"), deployment("c1", "gone", "v1-a")
	changed := deployed(web)
	changed.Mark.Digest, changed.Status = "v1-b", release.StatusFailed
	clusters["c1"].put(changed)

	got := clusters.runner().Observe(t.Context(), identity(), deploy.DriftNone, map[deploy.Key]deploy.Record{
		key("c1", "web"): recordOfWrite(web), key("c1", "gone"): recordOfWrite(gone),
	})

	if diff := cmp.Diff(map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(web)}, got.Records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"look", "read ns/gone v1"}, clusters["c1"].calls); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// A modified deployment is written again, although its configuration has not changed.
func TestApplyCorrectsDrift(t *testing.T) {
	t.Parallel()
	off := func(d *target.Deployment) { d.Options.CorrectDrift = &fleetyaml.CorrectDrift{Enabled: new(false)} }
	patches := func(d *target.Deployment) {
		d.Options.Diff = &fleetyaml.Diff{ComparePatches: []fleetyaml.ComparePatch{{Kind: "A"}}}
	}
	tests := map[string]struct {
		options func(*target.Deployment)
		counts  status.Counts
		former  bool // the release is of a former instance
		want    string
	}{
		"modified":                        {counts: status.Counts{Modified: 1}, want: "upgrade ns/web"},
		"missing":                         {counts: status.Counts{Missing: 1}, want: "upgrade ns/web"},
		"adopted, and modified":           {counts: status.Counts{Modified: 1}, former: true, want: "upgrade ns/web"},
		"held by another":                 {counts: status.Counts{NotOwned: 1}, want: "keep ns/web"},
		"not ready":                       {counts: status.Counts{NotReady: 1}, want: "keep ns/web"},
		"correcting is off":               {counts: status.Counts{Modified: 1}, options: off, want: "keep ns/web"},
		"compared in another way by now":  {counts: status.Counts{Modified: 1}, options: patches, want: "keep ns/web"},
		"adopted, and correcting is off":  {counts: status.Counts{Modified: 1}, options: off, former: true, want: "adopt ns/web"},
		"nothing differs from the wanted": {want: "keep ns/web"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := deployment("c1", "web", "v1-a")
			if test.options != nil {
				test.options(&web)
			}
			clusters := newFleet("c1")
			there := deployed(web)
			if test.former {
				there.Mark.Instance, there.Mark.AdoptionKey = "former", "k"
				there = signed(there, proofOn("c1"))
			}
			clusters["c1"].put(there)
			prior := recordOfWrite(web)
			prior.Counts = test.counts
			asked := request(map[deploy.Key]deploy.Record{key("c1", "web"): prior})
			asked.AdoptionKey, asked.Write = "k", []target.Deployment{web}

			expectNoFailures(t, clusters.runner().Apply(t.Context(), asked).Failures)

			if diff := cmp.Diff([]string{test.want}, clusters["c1"].did()); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

// A change that the cluster makes to a write is no drift while it stays the same.
func TestApplyKeepsWhatTheClusterMade(t *testing.T) {
	t.Parallel()
	web, other := deployment("c1", "web", "v1-a"), deployment("c1", "other", "v1-a")
	clusters := newFleet("c1")
	var asked []release.Inspection
	clusters["c1"].found["ns/web"] = func(i release.Inspection) release.Finding {
		asked = append(asked, i)
		if len(i.Accepted) > 0 {
			return release.Finding{Ready: 2}
		}
		return modified()
	}
	request := request(nil)
	request.Settings.Drift = deploy.DriftLive
	request.Write = []target.Deployment{web, other}

	outcome := clusters.runner().Apply(t.Context(), request)
	expectNoFailures(t, outcome.Failures)
	want := recordOfWrite(web)
	want.Accepted = map[string]string{"ConfigMap ns/web: data.key": "f"}
	if diff := cmp.Diff(want, outcome.Records[key("c1", "web")]); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"inspect ns/other ns/web"}, clusters["c1"].did()[2:]); diff != "" {
		t.Errorf("after the writes (-want +got):\n%s", diff)
	}
	accepted := []deploy.Notice{{Cluster: "c1", Bundle: "web", Accepted: []string{"ConfigMap ns/web: data.key"}}}
	if diff := cmp.Diff(accepted, outcome.Notices); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}

	observed := clusters.runner().Observe(t.Context(), identity(), deploy.DriftLive, outcome.Records)
	expectNoFailures(t, observed.Failures)
	if diff := cmp.Diff(outcome.Records, observed.Records); diff != "" {
		t.Errorf("a refresh (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(want.Accepted, asked[1].Accepted); diff != "" {
		t.Errorf("the refresh looks with (-want +got):\n%s", diff)
	}

	request.Prior, request.Write = outcome.Records, []target.Deployment{deployment("c1", "web", "v1-b")}
	if again := clusters.runner().Apply(t.Context(), request); len(again.Notices)+len(again.Failures) > 0 {
		t.Errorf("the next write notes %v and fails with %v", again.Notices, again.Failures)
	}
}

// When an apply returns, the counts are correct, also for failed deployments.
func TestApplyCountsObjectsOfFailures(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	clusters := newFleet("c1")
	clusters["c1"].broken["ns/web"] = errors.New("quota exceeded")
	clusters["c1"].found["ns/web"] = func(release.Inspection) release.Finding {
		return release.Finding{Ready: 1, Missing: []string{"Deployment ns/web"}}
	}
	request := request(nil)
	request.Settings.Drift = deploy.DriftLive
	request.Write = []target.Deployment{web}

	got := clusters.runner().Apply(t.Context(), request).Records[key("c1", "web")]

	if diff := cmp.Diff(status.Counts{Ready: 1, Missing: 1}, got.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if got.State != status.ErrApplied || got.Message != "quota exceeded" {
		t.Errorf("it is %s: %q", got.State, got.Message)
	}
}
