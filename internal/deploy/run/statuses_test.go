package run_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func TestSurvey(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	unready := release.Finding{Ready: 1, NotReady: []release.Unready{{Object: "it", Reason: "slow"}}}
	const chart = `web\x1b` // in a printable form
	another := func(o *release.Observed) { o.Mark.Digest = "v1-b" }
	tests := map[string]struct {
		gone    bool
		there   func(*release.Observed)
		finds   release.Finding
		arrange func(*memoryCluster)
		state   status.State
		message string
		digest  string
		chart   string
		fails   []string
	}{
		"ready":                 {finds: release.Finding{Ready: 2}, state: status.Ready, digest: "v1-a", chart: chart},
		"of another target":     {there: func(o *release.Observed) { o.Mark.Target, o.Mark.Instance = "x", "j" }, finds: release.Finding{Ready: 2}, state: status.Ready, digest: "v1-a", chart: chart},
		"modified":              {finds: modified(), state: status.Modified, message: differs, digest: "v1-a", chart: chart},
		"not ready":             {finds: unready, state: status.NotReady, message: "not ready: it is slow", digest: "v1-a", chart: chart},
		"not there":             {gone: true, state: status.Pending, message: "it is not deployed"},
		"another digest":        {there: another, finds: modified(), state: status.OutOfSync, message: "the deployed version is not the wanted one", digest: "v1-b", chart: chart},
		"another, not ready":    {there: another, finds: unready, state: status.NotReady, message: "not ready: it is slow", digest: "v1-b", chart: chart},
		"failed":                {there: with(release.StatusFailed), finds: unready, state: status.ErrApplied, message: "the last operation failed", digest: "v1-a", chart: chart},
		"cut short":             {there: with(release.StatusPendingInstall), state: status.WaitApplied, message: "the last operation was interrupted: pending-install", digest: "v1-a", chart: chart},
		"rolled back":           {there: func(o *release.Observed) { o.Revision++ }, state: status.Modified, message: "the newest revision was created by another tool", chart: chart},
		"of somebody else":      {there: func(o *release.Observed) { o.Mark = release.Mark{} }, state: status.Modified, message: "the release has another owner"},
		"does not respond":      {arrange: failAt(unreachable("c1"), "look"), fails: []string{"c1 reading the cluster"}},
		"objects cannot be had": {arrange: failAt(unreachable("c1"), "inspect ns/web"), fails: []string{"c1/web reading the objects"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1")
			there := deployed(web)
			if test.there != nil {
				test.there(&there)
			}
			if !test.gone {
				clusters["c1"].put(there)
			}
			clusters["c1"].found["ns/web"] = func(release.Inspection) release.Finding {
				found := test.finds
				found.Chart = "web\x1b"
				return found
			}
			if test.arrange != nil {
				test.arrange(clusters["c1"])
			}

			got := clusters.runner().Status(t.Context(), owner, []target.Deployment{web})

			if diff := cmp.Diff(test.fails, failed(got.Failures), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			record, known := got.Records[key("c1", "web")]
			if known != (len(test.fails) == 0) {
				t.Fatalf("it is known: %t", known)
			}
			if record.Digest != test.digest || record.Chart != test.chart {
				t.Errorf("chart %q with digest %q is deployed, want %q with %q", record.Chart, record.Digest, test.chart, test.digest)
			}
			if record.State != test.state || record.Message != test.message {
				t.Errorf("it is %s %q, want %s %q", record.State, record.Message, test.state, test.message)
			}
		})
	}
}
