package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

func TestPlanHooks(t *testing.T) {
	t.Parallel()
	hook := func(name, annotations string) diff.Document {
		return diff.Document{Object: diff.Object{Kind: "Job", Group: "batch", Namespace: "shop", Name: name}, Hook: true, Content: `{"metadata": {"annotations": ` + annotations + `}}`}
	}
	documents := []diff.Document{
		{Object: diff.Object{Kind: "ConfigMap", Namespace: "shop", Name: "plain"}, Content: "{}"},
		hook("migrate", `{"helm.sh/hook": "pre-install, PRE-UPGRADE,post-upgrade"}`),
		hook("clean", `{"helm.sh/hook": "post-delete"}`),
		hook("check", `{"helm.sh/hook": "test"}`),
		hook("member", `{}`),
	}
	at := func(cluster string) deploy.Key { return deploy.Key{Cluster: cluster, Bundle: "web"} }
	plan := &Plan{Change: Change{Prior: map[deploy.Key]deploy.Record{at("old"): {}, at("older"): {}}}}
	for _, cluster := range []string{"new", "old", "older"} {
		plan.addHooks(at(cluster), documents)
	}
	want := []HookRun{
		{Hook: "Job.batch/shop/migrate (pre-install, pre-upgrade, post-upgrade)", Deployments: []deploy.Key{at("new")}},
		{Hook: "Job.batch/shop/clean (post-delete)", Deployments: []deploy.Key{at("new")}},
		{Hook: "Job.batch/shop/member", Deployments: []deploy.Key{at("new"), at("old"), at("older")}},
		{Hook: "Job.batch/shop/migrate (pre-upgrade, post-upgrade)", Deployments: []deploy.Key{at("old"), at("older")}},
	}
	if diff := cmp.Diff(want, plan.Hooks); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}
