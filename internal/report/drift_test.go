package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Objects that are not ready are reported in one warning over clusters and bundles, each cause
// once. Failed deployments are planned again and need no warning.
func TestNotReadyIsAWarning(t *testing.T) {
	t.Parallel()
	crashing := release.Finding{Ready: 1, NotReady: []release.Unready{{Object: "Deployment ns/web", Reason: "InProgress: Available: 0/1"}}}
	key := func(cluster string) deploy.Key { return deploy.Key{Cluster: cluster, Bundle: "web"} }
	observation := deploy.Observation{
		Records: map[deploy.Key]deploy.Record{
			key("a"): {State: status.NotReady}, key("b"): {State: status.NotReady}, key("c"): {State: status.Ready},
			key("d"): {State: status.ErrApplied}, key("e"): {State: status.NotReady, Message: "not ready: Job ns/once is InProgress"},
		},
		Findings: map[deploy.Key]release.Finding{key("a"): crashing, key("b"): crashing, key("c"): {Ready: 2}, key("d"): crashing},
	}
	var got []string
	for _, warning := range report.Drift("all", observation) {
		got = append(got, warning.Summary+"\n"+warning.Detail)
	}
	want := []string{`Target all: deployments are not ready
a/web, b/web:
  - Deployment ns/web is InProgress: Available: 0/1

e/web:
  - not ready: Job ns/once is InProgress

The wanted version is deployed, so this alone is no change. Check the events and logs of these objects. A check block can test this in every run, see the example of fleet_cluster_target.`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
