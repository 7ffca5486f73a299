package run_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A deployment that the plan shows as ready is ready after the apply, or a failure. The inspection
// after the write does not change its state. If the state is not known in the plan, that
// inspection decides.
func TestApplyKeepsThePlannedState(t *testing.T) {
	t.Parallel()
	slow := release.Finding{Ready: 1, NotReady: []release.Unready{{Object: "it", Reason: "slow"}}}
	const message = "not ready: it is slow"
	tests := map[string]struct {
		former  bool // a killed apply left the release
		ready   bool // the plan shows it as ready
		prior   status.State
		finding release.Finding
		want    status.State
		message string
		fails   []string
	}{
		"written, and ready in the plan":               {ready: true, finding: slow, want: status.Ready},
		"written, and not known in the plan":           {finding: slow, want: status.NotReady, message: message},
		"left by a killed apply, and ready":            {former: true, ready: true, finding: release.Finding{Ready: 2}, want: status.Ready},
		"left by a killed apply, and not ready":        {former: true, ready: true, finding: slow, want: status.NotReady, message: message, fails: []string{"c1/web adopting"}},
		"left by a killed apply, not known":            {former: true, finding: slow, want: status.NotReady, message: message},
		"labelled again, and not ready before":         {prior: status.NotReady, finding: release.Finding{Ready: 2}, want: status.NotReady, message: "as before"},
		"labelled again, not ready and ready promised": {prior: status.NotReady, ready: true, finding: release.Finding{Ready: 2}, want: status.Ready},
		"labelled again, and ready before":             {prior: status.Ready, ready: true, finding: slow, want: status.Ready},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				web := deployment("c1", "web", "v1-a")
				clusters := newFleet("c1")
				clusters["c1"].found["ns/web"] = func(release.Inspection) release.Finding { return test.finding }
				asked := request(nil)
				if test.former || test.prior != "" {
					there := deployed(web)
					there.Mark.Instance, there.Mark.AdoptionKey = "former", "k"
					clusters["c1"].put(signed(there, proofOn("c1")))
					asked.AdoptionKey = "k"
				}
				if test.prior != "" {
					record := recordOfWrite(web)
					record.State = test.prior
					if test.prior != status.Ready {
						record.Message = "as before"
					}
					asked.Prior = map[deploy.Key]deploy.Record{key("c1", "web"): record}
				}
				asked.Write, asked.Settings.Drift = []target.Deployment{web}, deploy.DriftLive
				asked.Ready = map[deploy.Key]bool{key("c1", "web"): test.ready}

				outcome := clusters.runner().Apply(t.Context(), asked)

				if diff := cmp.Diff(test.fails, failed(outcome.Failures), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("failures (-want +got):\n%s", diff)
				}
				if got := outcome.Records[key("c1", "web")]; got.State != test.want || got.Message != test.message {
					t.Errorf("the state is %s %q, want %s %q", got.State, got.Message, test.want, test.message)
				}
			})
		})
	}
}
