package helm

import (
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

func TestHookConflict(t *testing.T) {
	t.Parallel()
	job := diff.Object{Group: "batch", Kind: "Job", Namespace: "web", Name: "migrate"}
	namespace := diff.Object{Kind: "Namespace", Name: "web"}
	hooks := newHookObjects()
	hooks.addRecorded(&helmrelease.Release{Namespace: "web", Hooks: []*helmrelease.Hook{
		{Manifest: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: recorded}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n"},
	}})
	recorded := job
	recorded.Name = "recorded"
	tests := map[string]struct {
		object diff.Object
		live   liveObject
		takes  bool
		want   string
	}{
		"of an earlier run":            {object: job, live: liveObject{held: ownedByRelease}},
		"of a proven record":           {object: recorded},
		"of no release":                {object: job, want: ", which belongs to no release"},
		"of no release, taken":         {object: job, takes: true},
		"of another release":           {object: job, live: liveObject{held: ownedByOther, owner: "web/shop"}, want: ", which belongs to release web/shop"},
		"recorded, of another release": {object: recorded, live: liveObject{held: ownedByOther, owner: "web/shop"}, want: ", which belongs to release web/shop"},
		"of another release, taken":    {object: job, live: liveObject{held: ownedByOther, owner: "web/shop"}, takes: true},
		"a namespace":                  {object: namespace, live: liveObject{held: ownedByRelease}, takes: true, want: ", which is a namespace"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := hooks.conflict(test.object, test.live, test.takes); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestHookReplaces(t *testing.T) {
	t.Parallel()
	const before, succeeded = helmrelease.HookBeforeHookCreation, helmrelease.HookSucceeded
	tests := map[string]struct {
		hook   helmrelease.Hook
		status helmrelease.Status
		want   bool
	}{
		"the default":    {hook: helmrelease.Hook{Events: []helmrelease.HookEvent{helmrelease.HookPreInstall}}, status: helmrelease.StatusPendingInstall, want: true},
		"by its policy":  {hook: helmrelease.Hook{Events: []helmrelease.HookEvent{helmrelease.HookPostUpgrade}, DeletePolicies: []helmrelease.HookDeletePolicy{succeeded, before}}, status: helmrelease.StatusPendingUpgrade, want: true},
		"another policy": {hook: helmrelease.Hook{Events: []helmrelease.HookEvent{helmrelease.HookPreInstall}, DeletePolicies: []helmrelease.HookDeletePolicy{succeeded}}, status: helmrelease.StatusPendingInstall},
		"another event":  {hook: helmrelease.Hook{Events: []helmrelease.HookEvent{helmrelease.HookPreDelete, helmrelease.HookTest}}, status: helmrelease.StatusPendingRollback},
		"a removal":      {hook: helmrelease.Hook{Events: []helmrelease.HookEvent{helmrelease.HookPostDelete}}, status: helmrelease.StatusUninstalling, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := replaces(&test.hook, hookEvents(test.status)); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}
