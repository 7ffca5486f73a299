package provider

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// privateState is private state in a map. It counts what is written.
type privateState struct {
	content map[string][]byte
	writes  int
}

func (p *privateState) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) {
	return p.content[key], nil
}

func (p *privateState) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	p.content[key] = value
	p.writes++
	return nil
}

func TestLooksAreKept(t *testing.T) {
	t.Parallel()
	objects := map[string]string{"ConfigMap/a": "1", "ConfigMap/b": "2"}
	rules := release.Rules{ComparePatches: []fleetyaml.ComparePatch{{Kind: "A", JSONPointers: []string{"/a"}}}, ReportOnly: true}
	records := map[deploy.Key]deploy.Record{
		{Cluster: "c", Bundle: "ordinary"}: {Objects: objects, Counts: status.Counts{Ready: 2}},
		{Cluster: "c", Bundle: "drifted"}:  {Objects: objects, Counts: status.Counts{Ready: 1, Modified: 1}, Rules: rules},
		{Cluster: "d", Bundle: "drifted"}:  {Objects: objects, Counts: status.Counts{Ready: 2}, Rules: rules},
		{Cluster: "d", Bundle: "stored"}:   {Objects: objects, Counts: status.Counts{Ready: 2}, Stored: map[string]string{"a": "b"}},
	}
	private := &privateState{content: map[string][]byte{}}
	var diags diag.Diagnostics
	rememberLooks(t.Context(), looks{}, private, records, true, &diags)
	kept := readLooks(t.Context(), private, &diags)
	if diags.HasError() {
		t.Fatal(diags)
	}
	if len(kept.Rules) != 1 || len(kept.Deployments) != 3 {
		t.Errorf("kept %+v, want the rules once, and nothing of what is ordinary", kept)
	}
	for key, want := range records {
		if diff := cmp.Diff(want, kept.on(key.String(), deploy.Record{Objects: objects})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	rememberLooks(t.Context(), kept, private, records, true, &diags)
	if private.writes != 1 {
		t.Errorf("%d writes, want none of what is stored already", private.writes)
	}
}

// A state that shows no objects knows how many there are from private state alone.
func TestLooksWithoutObjectsInState(t *testing.T) {
	t.Parallel()
	ready := deploy.Record{Objects: map[string]string{"ConfigMap/a": "1"}, Counts: status.Counts{Ready: 1}}
	drifted := deploy.Record{Objects: ready.Objects, Counts: status.Counts{Missing: 1}}
	larger := deploy.Record{Objects: map[string]string{"ConfigMap/a": "1", "ConfigMap/b": "2"}, Counts: status.Counts{Ready: 2}}
	records := map[deploy.Key]deploy.Record{
		{Cluster: "a", Bundle: "x"}: drifted, {Cluster: "b", Bundle: "x"}: ready, {Cluster: "c", Bundle: "x"}: ready,
		{Cluster: "d", Bundle: "x"}: larger, {Cluster: "a", Bundle: "y"}: larger,
	}
	kept := looksOf(records, false)
	for key, record := range records {
		if got := kept.on(key.String(), deploy.Record{}).Counts; got != record.Counts {
			t.Errorf("%s: counts %+v, want %+v", key, got, record.Counts)
		}
	}
	if len(kept.Deployments) != 2 {
		t.Errorf("kept %+v, want nothing of deployments like others of their bundle", kept.Deployments)
	}
}
