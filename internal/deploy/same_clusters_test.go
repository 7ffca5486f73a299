package deploy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func TestSameClusters(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		uids map[string]string
		want [][]string
	}{
		"none":           {},
		"all are others": {uids: map[string]string{"a": "1", "b": "2"}},
		"two are one":    {uids: map[string]string{"b": "1", "a": "1", "c": "2"}, want: [][]string{{"a", "b"}}},
		"two pairs":      {uids: map[string]string{"a": "2", "b": "1", "c": "2", "d": "1"}, want: [][]string{{"a", "c"}, {"b", "d"}}},
		"unknown":        {uids: map[string]string{"a": "", "b": ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, deploy.SameClusters(test.uids)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Two names of one cluster with one release stop an apply before its first write, if nobody has read
// one of them before. Then no plan could report them.
func TestApplyStopsForTwoNamesOfOneCluster(t *testing.T) {
	t.Parallel()
	web := []target.Deployment{deployment("a", "web", "v1-a"), deployment("b", "web", "v1-a"), deployment("c", "web", "v1-a")}
	tests := map[string]struct {
		write  []target.Deployment
		change func(*deploy.Request)
		want   [][]string
	}{
		"a create":              {write: web, change: func(r *deploy.Request) { r.Create = true }, want: [][]string{{"a", "b"}}},
		"a create with consent": {write: web, change: func(r *deploy.Request) { r.Create, r.Settings.Consent.All = true, true }, want: [][]string{{"a", "b"}}},
		"a new cluster":         {write: web, change: func(r *deploy.Request) { r.UIDs = map[string]string{"a": "uid-one", "c": "uid-two"} }, want: [][]string{{"a", "b"}}},
		"a new name of an unchanged one": {write: web[1:2], change: func(r *deploy.Request) {
			r.UIDs, r.Unchanged = map[string]string{"a": "uid-one"}, []rollout.Step{{Deployment: web[0]}}
		}, want: [][]string{{"a", "b"}}},
		"different releases":               {write: []target.Deployment{web[0], deployment("b", "db", "v1-a")}},
		"a name that replaces another one": {write: web[1:2], change: func(r *deploy.Request) { r.UIDs = map[string]string{"a": "uid-one"} }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := newMemoryCluster("one")
			clusters := fleet{"a": one, "b": one, "c": newMemoryCluster("two")}
			asked := request(nil)
			asked.Write = test.write
			if test.change != nil {
				test.change(&asked)
			}
			outcome := clusters.engine().Apply(t.Context(), asked)
			if diff := cmp.Diff(test.want, outcome.Overlapping); diff != "" {
				t.Errorf("overlapping (-want +got):\n%s", diff)
			}
			written := len(one.did())+len(clusters["c"].did()) > 0
			if written != (test.want == nil) {
				t.Errorf("operations: %v", one.did())
			}
		})
	}
}
