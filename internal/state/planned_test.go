package state_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Terraform requests each plan twice, and both texts must be equal.
func TestPlannedAsText(t *testing.T) {
	t.Parallel()
	planned := state.Planned{
		Write: map[deploy.Key]state.PlannedWrite{keyed("a", "web"): {Digest: "v1-1", Ready: true}, keyed("b", "web"): {}},
		Held:  map[deploy.Key]bool{keyed("c", "web"): true, keyed("c", "db"): true, keyed("a", "db"): true},
	}
	text := planned.Encode()
	for range 20 {
		if again := planned.Encode(); again != text {
			t.Fatalf("two texts: %s and %s", text, again)
		}
	}
	if diff := cmp.Diff(planned, state.DecodePlanned(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	nothing := state.DecodePlanned(state.Planned{}.Encode())
	for name, damaged := range map[string]string{"none": "", "not base64": "%", "not compressed": "e30=", "cut off": text[:len(text)-8]} {
		if diff := cmp.Diff(nothing, state.DecodePlanned(damaged)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Deployments that are alike take few bytes.
func TestPlannedIsSmall(t *testing.T) {
	t.Parallel()
	const deployments, limit = 4000, 20
	planned := state.Planned{Write: map[deploy.Key]state.PlannedWrite{}}
	for i := range deployments {
		planned.Write[keyed(fmt.Sprintf("cluster-%d", i), "web")] = state.PlannedWrite{Digest: "v1-" + strings.Repeat("0123456789abcdef", 4), Ready: true}
	}
	if each := len(planned.Encode()) / len(planned.Write); each > limit {
		t.Errorf("%d bytes for each deployment", each)
	}
}

func TestPlannedDecisions(t *testing.T) {
	t.Parallel()
	web, open, held, other := keyed("a", "web"), keyed("a", "open"), keyed("a", "held"), keyed("a", "other")
	planned := state.Planned{Write: map[deploy.Key]state.PlannedWrite{web: {Digest: "v1-1", Ready: true}, open: {}}, Held: map[deploy.Key]bool{held: true}}
	if !planned.Writes(web) || planned.Writes(held) || planned.Writes(other) {
		t.Error("what is written is mixed up")
	}
	if planned.WritesOther(web, "v1-1") || !planned.WritesOther(web, "v1-12") || !planned.WritesOther(open, "v1-1") || planned.WritesOther(held, "v1-1") {
		t.Error("digests are mixed up")
	}
	if planned.LeavesOut(web) || !planned.LeavesOut(held) || (state.Planned{IsUnknown: true}).LeavesOut(held) {
		t.Error("what is left out is mixed up")
	}
	if diff := cmp.Diff(map[deploy.Key]bool{web: true}, planned.Ready()); diff != "" {
		t.Errorf("ready (-want +got):\n%s", diff)
	}
	change := plan.Change{Held: []deploy.Failure{{Cluster: "a", Bundle: "held"}, {Cluster: "a", Bundle: "web"}}}
	if diff := cmp.Diff(map[deploy.Key]bool{held: true}, planned.HeldAfter(change)); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(change.HeldKeys(), (state.Planned{IsUnknown: true}).HeldAfter(change)); diff != "" {
		t.Errorf("held after a plan that knows nothing (-want +got):\n%s", diff)
	}
	kept := state.Planned{Held: map[deploy.Key]bool{held: true}}
	if !planned.IsRepeatedBy(kept) || planned.IsRepeatedBy(state.Planned{}) || kept.IsRepeatedBy(planned) {
		t.Error("a plan that decides something new, and one that does not, are mixed up")
	}
	if repeated := planned.Repeated(); repeated.Writes(web) || repeated.Ready()[web] || !repeated.Held[held] {
		t.Errorf("a plan that decides nothing new: got %+v", repeated)
	}
	next := planned
	next.Number++
	if next.Encode() == planned.Encode() {
		t.Error("a plan that writes the same once more has the text of the last one")
	}
}

// The text WaitApplied can be the state of a release. It does not say that a change was held.
func TestStateWaitAppliedIsNotHeld(t *testing.T) {
	t.Parallel()
	shown := state.Contents{Records: map[deploy.Key]deploy.Record{key: {Release: "web", Namespace: "ns", State: status.WaitApplied}}}.Shown()
	if shown.NotReady["a/web"] != "WaitApplied" {
		t.Fatalf("not ready: %v", shown.NotReady)
	}
	if held := state.Decode(shown, state.Planned{}, state.DriftState{}).Held; len(held) > 0 {
		t.Errorf("held: %v", held)
	}
}
