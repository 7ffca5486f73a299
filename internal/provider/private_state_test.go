package provider

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
)

// Private state is stored only if it changed.
func TestPrivateStateIsStoredOnce(t *testing.T) {
	t.Parallel()
	private := privateKeys{}
	var diags diag.Diagnostics
	before := loadPrivate(t.Context(), private, &diags)
	after := before
	after.Needs = map[string][]string{"web": {"db"}}
	storePrivate(t.Context(), private, before, after, &diags)
	if diff := cmp.Diff(after, loadPrivate(t.Context(), private, &diags)); diff != "" || diags.HasError() {
		t.Fatalf("(-want +got):\n%s%v", diff, diags)
	}
	private[state.Key] = nil
	if storePrivate(t.Context(), private, after, after, &diags); private[state.Key] != nil || diags.HasError() {
		t.Errorf("stored although nothing changed: %v", diags)
	}
}

// Damaged private state is one error, whichever part is damaged, and no part of it is used.
func TestPrivateStateThatCannotBeRead(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		private privateKeys
		want    string
	}{
		"damaged":            {private: privateKeys{state.Key: []byte(`{"version":1,"needs":"hidden","orphans":"hidden","uids":"hidden"}`)}, want: "import it by its name"},
		"of a newer version": {private: privateKeys{state.Key: []byte(`{"version":99,"needs":"hidden"}`)}, want: "Use the version of the provider that wrote it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			private := loadPrivate(t.Context(), test.private, &diags)
			if len(diags) != 1 || !diags.HasError() || !strings.Contains(diags[0].Detail(), test.want) || strings.Contains(diags[0].Detail(), "hidden") {
				t.Errorf("diagnostics %v", diags)
			}
			if diff := cmp.Diff(state.Private{}, private); diff != "" {
				t.Errorf("something was loaded:\n%s", diff)
			}
		})
	}
}

// privateKeys is the private state of a request.
type privateKeys map[string][]byte

func (p privateKeys) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) {
	return p[key], nil
}

// SetKey removes a key with an empty value, as the framework does.
func (p privateKeys) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	if len(value) == 0 {
		delete(p, key)
		return nil
	}
	p[key] = value
	return nil
}
