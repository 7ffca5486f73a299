package plan_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// The summary of a create that replaces a target counts what the new target has of the former one.
func TestSummaryOfAReplacement(t *testing.T) {
	t.Parallel()
	asWanted := recordOf("web")
	failed := recordOf("db")
	failed.State = status.ErrApplied
	replaced := map[deploy.Key]deploy.Record{key("a", "web"): asWanted, key("a", "db"): failed, key("a", "logs"): recordOf("logs")}
	desired := plan.Desired{Deployments: []target.Deployment{deploymentOf("a", "web", "old"), deploymentOf("a", "db", "old"), deploymentOf("b", "web", "old")}}
	tests := map[string]struct {
		replaced map[deploy.Key]deploy.Record
		want     string
	}{
		"no former target": {want: "+3 ~0 -0 =0, replaces: false, uninstalls: 0"},
		"a former target":  {replaced: replaced, want: "+1 ~1 -1 =1, replaces: true, uninstalls: 1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := plan.New(t.Context(), desired, nil, plan.Facts{Charts: charts{}, Reach: reach{}})
			summary := plan.Summary(test.replaced)
			got := fmt.Sprintf("%s, replaces: %t, uninstalls: %d", summary.Counts, summary.Replaces, summary.Uninstalls())
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	record := func(names ...string) deploy.Record {
		known := deploy.Record{Namespace: "shop", Release: names[0]}
		for _, name := range names[1:] {
			known.Leftovers = append(known.Leftovers, release.Known{Namespace: "shop", Release: name})
		}
		return known
	}
	tests := map[string]struct {
		wanted []target.Deployment
		prior  map[deploy.Key]deploy.Record
		want   string
	}{
		"nothing": {want: "+0 ~0 -0 =0"},
		"only an order": {
			wanted: []target.Deployment{deploymentOf("a", "web", "x"), after(deploymentOf("a", "site", "x"), "web")},
			want:   "+2 ~0 -0 =0\n1. web on a\n2. site on a",
		},
		"clusters that lose the same": {
			prior: map[deploy.Key]deploy.Record{
				key("a", "web"): record("web"), key("a", "logs"): record("logs"), key("b", "logs"): record("logs"), key("b", "web"): record("web"), key("c", "web"): record("web"),
			},
			want: "+0 ~0 -5 =0\n[a b] lose [shop/logs shop/web]\n[c] lose [shop/web]\n5 releases",
		},
		"a failed move": {
			prior: map[deploy.Key]deploy.Record{key("a", "web"): record("web", "former")},
			want:  "+0 ~0 -1 =0\n[a] lose [shop/former shop/web]\n2 releases",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			summary := plan.Compare(plan.Desired{Deployments: test.wanted}, test.prior, false).Summary()
			got := summary.Counts.String()
			if summary.Stages != "" {
				got += "\n" + summary.Stages
			}
			for _, lost := range summary.Uninstalled {
				got += fmt.Sprintf("\n%v lose %v", lost.Clusters, lost.Names)
			}
			if number := summary.Uninstalls(); number > 0 {
				got += fmt.Sprintf("\n%d releases", number)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}
