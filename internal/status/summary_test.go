package status_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

func TestClusterSummary(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		summary status.ClusterSummary
		want    string
	}{
		"all is well":     {status.ClusterSummary{Ready: 3, Deployments: 3, Objects: status.Counts{Ready: 41}}, "3/3 deployments, 41/41 objects"},
		"one of each":     {status.ClusterSummary{Ready: 1, Deployments: 1, Objects: status.Counts{Ready: 1}}, "1/1 deployment, 1/1 object"},
		"drift":           {status.ClusterSummary{Ready: 2, Deployments: 3, Objects: status.Counts{Ready: 38, Modified: 1, Missing: 2}}, "2/3 deployments, 38/41 objects, 1 modified, 2 missing"},
		"not read":        {status.ClusterSummary{Deployments: 1, Objects: status.Counts{Unknown: 4}}, "0/1 deployment, 0/4 objects, 4 unknown"},
		"others' objects": {status.ClusterSummary{Ready: 1, Deployments: 1, Objects: status.Counts{Ready: 2, NotReady: 1, NotOwned: 2}}, "1/1 deployment, 2/3 objects, 1 not ready, 2 owned by other releases"},
		"only held":       {status.ClusterSummary{Deployments: 2}, "0/2 deployments, 0/0 objects"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.summary.String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestStateText(t *testing.T) {
	t.Parallel()
	if got := status.WaitApplied.Text(""); got != "WaitApplied" {
		t.Errorf("got %q", got)
	}
	if got := status.NotReady.Text("Pod ns/x is Pending"); got != "NotReady: Pod ns/x is Pending" {
		t.Errorf("got %q", got)
	}
}
