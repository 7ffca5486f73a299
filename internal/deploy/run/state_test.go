package run_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// The resource and the data source report the same state for the same release and the same
// objects.
func TestOneStateWhoeverAsks(t *testing.T) {
	t.Parallel()
	byHand := func(state release.Status) func(*release.Observed) {
		return func(o *release.Observed) { o.Revision, o.Status = o.Revision+1, state }
	}
	unready := release.Finding{Ready: 1, NotReady: []release.Unready{{Object: "it", Reason: "slow"}}}
	tests := map[string]struct {
		there func(*release.Observed)
		finds release.Finding
		want  status.State
	}{
		"ready":                            {finds: release.Finding{Ready: 2}, want: status.Ready},
		"not ready":                        {finds: unready, want: status.NotReady},
		"failed":                           {there: with(release.StatusFailed), finds: release.Finding{Ready: 2}, want: status.ErrApplied},
		"failed, objects not ready":        {there: with(release.StatusFailed), finds: unready, want: status.ErrApplied},
		"cut short":                        {there: with(release.StatusPendingUpgrade), finds: unready, want: status.WaitApplied},
		"changed by hand":                  {there: byHand(release.StatusDeployed), finds: unready, want: status.Modified},
		"failed and changed by hand":       {there: byHand(release.StatusFailed), finds: release.Finding{Ready: 2}, want: status.Modified},
		"cut short in a change by hand":    {there: byHand(release.StatusPendingUpgrade), finds: release.Finding{Ready: 2}, want: status.Modified},
		"not ready after a change by hand": {there: byHand(release.StatusDeployed), finds: unready, want: status.Modified},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := deployment("c1", "web", "v1-a")
			there := deployed(web)
			if test.there != nil {
				test.there(&there)
			}
			clusters := newFleet("c1")
			clusters["c1"].put(there)
			clusters["c1"].found["ns/web"] = func(release.Inspection) release.Finding { return test.finds }

			resource := clusters.runner().Observe(t.Context(), identity(), deploy.DriftLive, map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(web)})
			dataSource := clusters.runner().Status(t.Context(), owner, []target.Deployment{web})

			ofResource, ofDataSource := resource.Records[key("c1", "web")], dataSource.Records[key("c1", "web")]
			if ofResource.State != test.want || ofDataSource.State != test.want {
				t.Errorf("the resource reports %s, and the data source %s, want %s", ofResource.State, ofDataSource.State, test.want)
			}
			if ofResource.Message != ofDataSource.Message {
				t.Errorf("the resource says %q, and the data source %q", ofResource.Message, ofDataSource.Message)
			}
		})
	}
}

// A failed deployment keeps its cause until its objects are as wanted.
func TestMessageOfAFailedDeployment(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		finds release.Finding
		want  string
	}{
		"not ready":           {finds: release.Finding{NotReady: []release.Unready{{Object: "it", Reason: "slow"}}}, want: "timed out"},
		"modified":            {finds: release.Finding{Ready: 1, Modified: []release.Modification{{Object: "it"}}}, want: "timed out"},
		"not readable":        {finds: release.Finding{Ready: 1, Refused: map[string]int{"Role": 1}}, want: "timed out"},
		"as wanted and ready": {finds: release.Finding{Ready: 2}, want: "the last operation failed, but its objects are as wanted and ready"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := deployment("c1", "web", "v1-a")
			there := deployed(web)
			there.Status = release.StatusFailed
			clusters := newFleet("c1")
			clusters["c1"].put(there)
			clusters["c1"].found["ns/web"] = func(release.Inspection) release.Finding { return test.finds }
			record := recordOfWrite(web)
			record.State, record.Message = status.ErrApplied, "timed out"
			seen := clusters.runner().Observe(t.Context(), identity(), deploy.DriftLive, map[deploy.Key]deploy.Record{key("c1", "web"): record})
			if got := seen.Records[key("c1", "web")]; got.State != status.ErrApplied || got.Message != test.want {
				t.Errorf("%s: %q, want %q", got.State, got.Message, test.want)
			}
		})
	}
}

// A kept deployment is awaited for those that depend on it. Its state is derived as in a refresh,
// so changes of its release since the refresh count.
func TestStateOfAKeptDependency(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*release.Observed)
		want   string
	}{
		"as it was":                  {change: func(*release.Observed) {}},
		"changed by hand":            {change: func(o *release.Observed) { o.Revision++ }, want: "it is held: it depends on bundle db, which is Modified"},
		"failed and changed by hand": {change: func(o *release.Observed) { o.Revision, o.Status = 2, release.StatusFailed }, want: "it is held: it depends on bundle db, which is Modified"},
		"failed":                     {change: with(release.StatusFailed), want: "it is held: it depends on bundle db, which is ErrApplied"},
		"uninstalled":                {change: with(release.StatusUninstalled), want: "it is held: it depends on bundle db, which is Pending"},
		"of another target":          {change: func(o *release.Observed) { o.Mark.Instance = "successor" }, want: "it is held: it depends on bundle db, which is Modified"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("a")
			db := deployment("a", "db", "v1-a")
			there := deployed(db)
			test.change(&there)
			clusters["a"].put(there)
			asked := request(nil)
			asked.Write = []target.Deployment{after(deployment("a", "web", "v1-a"), "db")}
			asked.Unchanged = []rollout.Step{kept(db, status.NotReady)}

			outcome := clusters.runner().Apply(t.Context(), asked)

			if got := because(outcome.Failures)["a/web"]; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
