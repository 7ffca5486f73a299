package helm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

func TestHookConflict(t *testing.T) {
	t.Parallel()
	job := diff.Object{Group: "batch", Kind: "Job", Namespace: "web", Name: "migrate"}
	namespace := diff.Object{Kind: "Namespace", Name: "web"}
	tests := map[string]struct {
		object       diff.Object
		live         liveObject
		takes, keeps bool
		want         string
	}{
		"of an earlier run":         {object: job, live: liveObject{held: ownedByRelease}},
		"of no release":             {object: job, want: ", which belongs to no release"},
		"of no release, taken":      {object: job, takes: true},
		"of another release":        {object: job, live: liveObject{held: ownedByOther, owner: "web/shop"}, want: ", which belongs to release web/shop"},
		"of another release, taken": {object: job, live: liveObject{held: ownedByOther, owner: "web/shop"}, takes: true},
		"kept by its policy":        {object: job, live: liveObject{held: ownedByRelease}, keeps: true, takes: true, want: ", which the delete policy of the hook keeps"},
		"a namespace":               {object: namespace, live: liveObject{held: ownedByRelease}, takes: true, want: ", which is a namespace"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (hookObject{Object: test.object, isReplaced: !test.keeps}).conflict(test.live, test.takes); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestHooksWanted(t *testing.T) {
	t.Parallel()
	hook := func(name string, event helmrelease.HookEvent, policies ...helmrelease.HookDeletePolicy) *helmrelease.Hook {
		return &helmrelease.Hook{Manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n", Events: []helmrelease.HookEvent{event}, DeletePolicies: policies}
	}
	const before, succeeded = helmrelease.HookBeforeHookCreation, helmrelease.HookSucceeded
	record := &helmrelease.Release{Namespace: "web", Hooks: []*helmrelease.Hook{
		hook("default", helmrelease.HookPreInstall), hook("policy", helmrelease.HookPostInstall, succeeded, before), hook("keeps", helmrelease.HookPreInstall, succeeded),
		hook("upgrade", helmrelease.HookPreUpgrade), hook("test", helmrelease.HookTest), hook("rollback", helmrelease.HookPreRollback), hook("removal", helmrelease.HookPostDelete),
	}}
	tests := map[helmrelease.Status]map[string]bool{
		helmrelease.StatusPendingInstall:  {"ConfigMap/web/default": true, "ConfigMap/web/policy": true, "ConfigMap/web/keeps": false},
		helmrelease.StatusPendingUpgrade:  {"ConfigMap/web/upgrade": true},
		helmrelease.StatusPendingRollback: {"ConfigMap/web/rollback": true},
		helmrelease.StatusUninstalling:    {"ConfigMap/web/removal": true},
	}
	for status, want := range tests {
		t.Run(status.String(), func(t *testing.T) {
			t.Parallel()
			hooks := newHookObjects()
			wanted, err := hooks.wanted(record, hookEvents(status))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, object := range wanted {
				got[object.Key()] = object.isReplaced
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}
