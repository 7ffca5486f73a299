package deploy_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func TestOverview(t *testing.T) {
	t.Parallel()
	of := func(state status.State, counts status.Counts) deploy.Record {
		return deploy.Record{State: state, Counts: counts}
	}
	two, one := status.Counts{Ready: 2}, status.Counts{Ready: 1}
	silent := deploy.Failure{Cluster: "b", Err: errUnreachable}
	refused := errors.New("it is\nforbidden")
	tests := map[string]struct {
		records  map[deploy.Key]deploy.Record
		failures []deploy.Failure
		want     deploy.Overview
	}{
		"all is well": {
			records: map[deploy.Key]deploy.Record{
				key("a", "web"): of(status.Ready, two), key("a", "db"): of(status.Ready, one), key("b", "web"): of(status.Ready, two),
			},
			want: deploy.Overview{
				Totals:        deploy.Totals{State: status.Ready, Deployments: 3, Ready: 3, Objects: status.Counts{Ready: 5}},
				ReadyClusters: "2/2",
				Clusters: map[string]deploy.ClusterTotals{
					"a": {IsReachable: true, Totals: deploy.Totals{State: status.Ready, Deployments: 2, Ready: 2, Objects: status.Counts{Ready: 3}}},
					"b": {IsReachable: true, Totals: deploy.Totals{State: status.Ready, Deployments: 1, Ready: 1, Objects: two}},
				},
			},
		},
		"one failed and one was modified": {
			records: map[deploy.Key]deploy.Record{
				key("a", "web"): of(status.ErrApplied, status.Counts{Unknown: 2}), key("a", "db"): of(status.Modified, status.Counts{Modified: 1}), key("b", "web"): of(status.Ready, two),
			},
			want: deploy.Overview{
				Totals:        deploy.Totals{State: status.ErrApplied, Deployments: 3, Ready: 1, Failed: 1, Objects: status.Counts{Ready: 2, Modified: 1, Unknown: 2}},
				ReadyClusters: "1/2",
				Clusters: map[string]deploy.ClusterTotals{
					"a": {IsReachable: true, Totals: deploy.Totals{State: status.ErrApplied, Deployments: 2, Failed: 1, Objects: status.Counts{Modified: 1, Unknown: 2}}},
					"b": {IsReachable: true, Totals: deploy.Totals{State: status.Ready, Deployments: 1, Ready: 1, Objects: two}},
				},
			},
		},
		"a cluster does not respond": {
			records:  map[deploy.Key]deploy.Record{key("a", "web"): of(status.Ready, two), key("a", "db"): of(status.Ready, one)},
			failures: []deploy.Failure{silent},
			want: deploy.Overview{
				Totals:        deploy.Totals{Deployments: 3, Ready: 2, Objects: status.Counts{Ready: 3}},
				ReadyClusters: "1/2",
				Clusters: map[string]deploy.ClusterTotals{
					"a": {IsReachable: true, Totals: deploy.Totals{State: status.Ready, Deployments: 2, Ready: 2, Objects: status.Counts{Ready: 3}}},
					"b": {Message: status.Cause(errUnreachable), Totals: deploy.Totals{Deployments: 1}},
				},
				Unreachable: []string{"b"},
			},
		},
		"a deployment cannot be read": {
			records:  map[deploy.Key]deploy.Record{key("a", "web"): of(status.Ready, two), key("b", "web"): of(status.Ready, two)},
			failures: []deploy.Failure{{Cluster: "a", Bundle: "db", Err: refused}},
			want: deploy.Overview{
				Totals:        deploy.Totals{Deployments: 3, Ready: 2, Objects: status.Counts{Ready: 4}},
				ReadyClusters: "1/2",
				Clusters: map[string]deploy.ClusterTotals{
					"a": {IsReachable: true, Message: "db: it is forbidden", Totals: deploy.Totals{Deployments: 2, Ready: 1, Objects: two}},
					"b": {IsReachable: true, Totals: deploy.Totals{State: status.Ready, Deployments: 1, Ready: 1, Objects: two}},
				},
				Unobserved: []string{"a/db"},
			},
		},
		"what was read is worse": {
			records:  map[deploy.Key]deploy.Record{key("a", "web"): of(status.NotReady, status.Counts{NotReady: 2})},
			failures: []deploy.Failure{silent, {Cluster: "a", Bundle: "db", Err: refused}},
			want: deploy.Overview{
				Totals:        deploy.Totals{State: status.NotReady, Deployments: 3, Objects: status.Counts{NotReady: 2}},
				ReadyClusters: "0/2",
				Clusters: map[string]deploy.ClusterTotals{
					"a": {IsReachable: true, Message: "db: it is forbidden", Totals: deploy.Totals{State: status.NotReady, Deployments: 2, Objects: status.Counts{NotReady: 2}}},
					"b": {Message: status.Cause(errUnreachable), Totals: deploy.Totals{Deployments: 1}},
				},
				Unreachable: []string{"b"}, Unobserved: []string{"a/db"},
			},
		},
		"one cause for several": {
			failures: []deploy.Failure{
				silent, {Cluster: "a", Bundle: "web", Err: refused}, {Cluster: "a", Bundle: "db", Err: refused},
			},
			want: deploy.Overview{
				Totals:        deploy.Totals{Deployments: 3},
				ReadyClusters: "0/2",
				Clusters: map[string]deploy.ClusterTotals{
					"a": {IsReachable: true, Message: "db, web: it is forbidden", Totals: deploy.Totals{Deployments: 2}},
					"b": {Message: status.Cause(errUnreachable), Totals: deploy.Totals{Deployments: 1}},
				},
				Unreachable: []string{"b"}, Unobserved: []string{"a/db", "a/web"},
			},
		},
	}
	wanted := []target.Deployment{deployment("a", "web", "v1-a"), deployment("a", "db", "v1-a"), deployment("b", "web", "v1-a")}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := deploy.Observation{Records: test.records, Failures: test.failures}
			if diff := cmp.Diff(test.want, found.Overview(wanted)); diff != "" {
				t.Errorf("overview (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOverviewOfNothing(t *testing.T) {
	t.Parallel()
	want := deploy.Overview{Totals: deploy.Totals{State: status.Ready}, ReadyClusters: "0/0", Clusters: map[string]deploy.ClusterTotals{}}
	if diff := cmp.Diff(want, deploy.Observation{}.Overview(nil)); diff != "" {
		t.Errorf("overview (-want +got):\n%s", diff)
	}
}
