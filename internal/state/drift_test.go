package state_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

func TestDriftStateIsKept(t *testing.T) {
	t.Parallel()
	objects := map[string]string{"ConfigMap/a": "1", "ConfigMap/b": "2"}
	rules := release.Rules{ComparePatches: []fleetyaml.ComparePatch{{Kind: "A", JSONPointers: []string{"/a"}}}, ReportOnly: true}
	records := map[deploy.Key]deploy.Record{
		{Cluster: "c", Bundle: "ordinary"}: {Objects: objects, Counts: status.Counts{Ready: 2}},
		{Cluster: "c", Bundle: "drifted"}:  {Objects: objects, Counts: status.Counts{Ready: 1, Modified: 1}, Rules: rules},
		{Cluster: "d", Bundle: "drifted"}:  {Objects: objects, Counts: status.Counts{Ready: 2}, Rules: rules},
	}
	private := state.Private{DriftState: state.DriftStateOf(records, true)}
	kept := reloaded(t, private).DriftState
	if len(kept.Rules) != 1 || len(kept.Deployments) != 2 {
		t.Errorf("kept %+v, want the rules once, and nothing of what is ordinary", kept)
	}
	for key, want := range records {
		if diff := cmp.Diff(want, kept.On(key.String(), deploy.Record{Objects: objects})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	entry, err := private.Changed(state.Private{DriftState: state.DriftStateOf(records, true)})
	if err != nil || entry != nil {
		t.Errorf("stored %s, want nothing of what is stored already: %v", entry, err)
	}
}

// If a state shows no objects, their number is read from private state alone.
func TestDriftStateWithoutObjectsInState(t *testing.T) {
	t.Parallel()
	ready := deploy.Record{Objects: map[string]string{"ConfigMap/a": "1"}, Counts: status.Counts{Ready: 1}}
	drifted := deploy.Record{Objects: ready.Objects, Counts: status.Counts{Missing: 1}}
	larger := deploy.Record{Objects: map[string]string{"ConfigMap/a": "1", "ConfigMap/b": "2"}, Counts: status.Counts{Ready: 2}}
	records := map[deploy.Key]deploy.Record{
		{Cluster: "a", Bundle: "x"}: drifted, {Cluster: "b", Bundle: "x"}: ready, {Cluster: "c", Bundle: "x"}: ready,
		{Cluster: "d", Bundle: "x"}: larger, {Cluster: "a", Bundle: "y"}: larger,
	}
	kept := state.DriftStateOf(records, false)
	for key, record := range records {
		if got := kept.On(key.String(), deploy.Record{}).Counts; got != record.Counts {
			t.Errorf("%s: counts %+v, want %+v", key, got, record.Counts)
		}
	}
	if len(kept.Deployments) != 2 {
		t.Errorf("kept %+v, want nothing of deployments like others of their bundle", kept.Deployments)
	}
}
