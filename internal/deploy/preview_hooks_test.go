package deploy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func TestHookRuns(t *testing.T) {
	t.Parallel()
	hook := func(name, annotations string) diff.Document {
		return diff.Document{Object: diff.Object{Kind: "Job", Group: "batch", Namespace: "shop", Name: name}, Hook: true, Content: `{"metadata": {"annotations": ` + annotations + `}}`}
	}
	rendering := release.Rendering{Documents: []diff.Document{
		{Object: diff.Object{Kind: "ConfigMap", Namespace: "shop", Name: "plain"}, Content: "{}"},
		hook("migrate", `{"helm.sh/hook": "pre-install, PRE-UPGRADE,post-upgrade"}`),
		hook("clean", `{"helm.sh/hook": "post-delete"}`),
		hook("check", `{"helm.sh/hook": "test"}`),
		hook("member", `{}`),
	}}
	d := func(cluster string) target.Deployment {
		return target.Deployment{Cluster: cluster, Bundle: &bundle.Bundle{Name: "web"}}
	}
	at := func(cluster string) Key { return Key{Cluster: cluster, Bundle: "web"} }
	plan := &Plan{
		Change:     Change{Write: []target.Deployment{d("new"), d("old"), d("older")}, prior: map[Key]Record{at("old"): {}, at("older"): {}}},
		Renderings: map[Key]release.Rendering{at("new"): rendering, at("old"): rendering, at("older"): rendering},
	}
	want := []HookRun{
		{Hook: "Job.batch/shop/migrate (pre-install)", Deployments: []Key{at("new")}},
		{Hook: "Job.batch/shop/member", Deployments: []Key{at("new"), at("old"), at("older")}},
		{Hook: "Job.batch/shop/migrate (pre-upgrade, post-upgrade)", Deployments: []Key{at("old"), at("older")}},
	}
	if diff := cmp.Diff(want, plan.HookRuns()); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}
