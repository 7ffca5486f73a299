package fleet

import (
	"encoding/json"
	"testing"
)

// An event of one deployment wakes no goroutine that waits for another one. With many clusters,
// that would take most of the time of an apply.
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

// A goroutine that waits for all deployments of a Bundle sees each one that catches up, and the
// end.
func TestTrackerLag(t *testing.T) {
	t.Parallel()
	const digest = "v1-new"
	of := func(digest string) *bundleDeployment {
		return &bundleDeployment{Metadata: metadata{Labels: map[string]string{labelDigest: digest}}}
	}
	ids := []deploymentID{{"web", "c1"}, {"web", "c2"}, {"web", "c3"}}
	tracker := (&Engine{}).newTracker(nil, "", view{deployments: map[deploymentID]*bundleDeployment{
		ids[0]: of("v1-old"), ids[1]: of("v1-old"), ids[2]: of(digest), {"db", "c1"}: of("v1-other"),
	}})
	for caught, want := range []int{2, 1, 0} {
		behind, changed := tracker.lag("web", digest)
		if behind != want || want > 0 && isClosed(changed) {
			t.Fatalf("%d caught up: got %d behind, want %d, and nothing newer", caught, behind, want)
		}
		if want == 0 {
			return
		}
		tracker.set(ids[2], of(digest))
		if isClosed(changed) {
			t.Errorf("%d caught up: an event of another one wakes", caught)
		}
		// It is not defined for which of them lag waits, so all of them have an event.
		for i, id := range ids[:2] {
			if i <= caught {
				tracker.set(id, of(digest))
			} else {
				tracker.set(id, of("v1-old"))
			}
		}
		if !isClosed(changed) {
			t.Errorf("%d caught up: nothing wakes", caught)
		}
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
