package engine

import (
	"encoding/json"
	"testing"
)

// An event of one deployment wakes nobody who waits for another one: with many clusters most of the
// time of an apply would be spent on that.
func TestTrackerWakesOnlyWhoWaits(t *testing.T) {
	t.Parallel()
	engine := &Engine{settings: Settings{Namespace: "fleet-default"}}
	clusters := map[string]managedCluster{"c1": {namespace: "cluster-c1"}, "c2": {namespace: "cluster-c2"}}
	tracker := engine.newTracker(nil, "", view{clusters: clusters, deployments: map[deploymentID]*bundleDeployment{}})
	first, second := deploymentID{"web", "c1"}, deploymentID{"web", "c2"}
	_, firstChanged, _ := tracker.deployment(first)
	_, again, _ := tracker.deployment(first)
	_, secondChanged, _ := tracker.deployment(second)

	event := func(kind, cluster string) watchEvent {
		object, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "web", "namespace": "cluster-" + cluster, "labels": map[string]any{
			labelCluster: cluster, labelClusterNamespace: "fleet-default", labelBundleNamespace: "fleet-default", labelBundleName: "web",
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return watchEvent{Type: kind, Object: object}
	}
	if err := tracker.see(event("ADDED", "c1")); err != nil {
		t.Fatal(err)
	}
	if !isClosed(firstChanged) || !isClosed(again) {
		t.Error("who waits for c1 does not see its event")
	}
	if isClosed(secondChanged) {
		t.Error("who waits for c2 sees an event of c1")
	}
	found, firstChanged, _ := tracker.deployment(first)
	if found == nil || isClosed(firstChanged) {
		t.Errorf("c1: got %v, want the deployment, and nothing newer", found)
	}
	if err := tracker.see(event("DELETED", "c1")); err != nil {
		t.Fatal(err)
	}
	if found, _, _ := tracker.deployment(first); found != nil || !isClosed(firstChanged) {
		t.Errorf("c1 after its deletion: got %v, want none, and an event", found)
	}

	_, firstChanged, _ = tracker.deployment(first)
	tracker.replace(map[deploymentID]*bundleDeployment{first: {}})
	if !isClosed(firstChanged) || !isClosed(secondChanged) {
		t.Error("a new list wakes not all")
	}
	if found, _, _ := tracker.deployment(first); found == nil {
		t.Error("a new list does not count")
	}
}

func isClosed(changed <-chan struct{}) bool {
	select {
	case <-changed:
		return true
	default:
		return false
	}
}
