package provider

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// notebook is private state.
type notebook map[string][]byte

func (n notebook) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) {
	return n[key], nil
}

func (n notebook) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	n[key] = value
	return nil
}

// The order is stored when it changed, and bundles that are still there although
// nobody wants them any more keep theirs.
func TestRememberNeeds(t *testing.T) {
	t.Parallel()
	there := map[deploy.Key]deploy.Record{{Cluster: "a", Bundle: "left"}: {}, {Cluster: "a", Bundle: "web"}: {}}
	tests := map[string]struct {
		before, wanted map[string][]string
		want           map[string][]string
		stored         bool
	}{
		"none":    {},
		"new":     {wanted: map[string][]string{"web": {"db"}}, want: map[string][]string{"web": {"db"}}, stored: true},
		"as ever": {before: map[string][]string{"web": {"db"}}, wanted: map[string][]string{"web": {"db"}}, want: map[string][]string{"web": {"db"}}},
		"what could not be removed": {
			before: map[string][]string{"left": {"db"}, "gone": {"db"}}, wanted: map[string][]string{"web": {"db"}},
			want: map[string][]string{"web": {"db"}, "left": {"db"}}, stored: true,
		},
		"no more": {before: map[string][]string{"gone": {"db"}}, want: map[string][]string{}, stored: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			private := notebook{}
			if test.before != nil {
				raw, err := json.Marshal(test.before)
				if err != nil {
					t.Fatal(err)
				}
				private[needsKey] = raw
			}
			var diags diag.Diagnostics
			before := readNeeds(t.Context(), private, &diags)
			delete(private, needsKey)
			wanted := test.wanted
			if wanted == nil {
				wanted = map[string][]string{}
			}
			rememberNeeds(t.Context(), private, before, wanted, there, &diags)
			if _, stored := private[needsKey]; stored != test.stored {
				t.Fatalf("stored: %t, want %t", stored, test.stored)
			}
			if !test.stored {
				private = notebook{needsKey: []byte(`{}`)}
				test.want = nil
			}
			if diff := cmp.Diff(test.want, readNeeds(t.Context(), private, &diags), cmpopts.EquateEmpty()); diff != "" || diags.HasError() {
				t.Errorf("needs (-want +got):\n%s, %v", diff, diags)
			}
		})
	}
}

func TestRota(t *testing.T) {
	t.Parallel()
	var planned rota
	key := deploy.Key{Cluster: "a", Bundle: "db"}
	expect := func(want bool, why string) {
		t.Helper()
		if got := planned.mayBring("web", key); got != want {
			t.Errorf("%s: mayBring = %t, want %t", why, got, want)
		}
	}
	expect(false, "nothing was planned")
	planned.plan("web", map[deploy.Key]bool{key: true})
	expect(false, "the target itself")
	planned.plan("base", map[deploy.Key]bool{{Cluster: "b", Bundle: "db"}: true})
	expect(false, "on another cluster")
	planned.plan("base", map[deploy.Key]bool{key: true})
	expect(true, "another target")
	planned.plan("base", map[deploy.Key]bool{})
	expect(false, "not any more")
	planned.plan("base", nil)
	expect(true, "not known yet")
}

// What a plan showed as to be written and is held is an error; what it showed as
// staying, or not at all, is not.
func TestUnexpectedlyHeld(t *testing.T) {
	t.Parallel()
	prior := map[deploy.Key]deploy.Record{
		{Cluster: "a", Bundle: "kept"}: {Digest: "old", State: status.Ready}, {Cluster: "a", Bundle: "changed"}: {Digest: "old", State: status.Ready},
	}
	var planned targetModel
	planned.setRecords(map[deploy.Key]deploy.Record{
		{Cluster: "a", Bundle: "kept"}: {Digest: "old"}, {Cluster: "a", Bundle: "changed"}: {Digest: "new"}, {Cluster: "a", Bundle: "new"}: {Digest: "new"},
	})
	var held []deploy.Failure
	for _, bundle := range []string{"kept", "changed", "new", "absent"} {
		held = append(held, deploy.Failure{Cluster: "a", Bundle: bundle, Err: &release.HeldError{Reason: "paused"}})
	}
	var got []string
	for _, failure := range planned.unexpectedlyHeld(held, prior) {
		got = append(got, failure.Bundle)
	}
	if diff := cmp.Diff([]string{"changed", "new"}, got); diff != "" {
		t.Errorf("unexpectedly held (-want +got):\n%s", diff)
	}
	if planned.leavesOut(deploy.Key{Cluster: "a", Bundle: "kept"}) || !planned.leavesOut(deploy.Key{Cluster: "a", Bundle: "absent"}) {
		t.Error("what the plan shows and what it leaves out is mixed up")
	}
	planned.setUnknown()
	if planned.leavesOut(deploy.Key{Cluster: "a", Bundle: "absent"}) {
		t.Error("a plan that knows nothing leaves nothing out")
	}
}
