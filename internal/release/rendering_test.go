package release_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

func TestKnownHashes(t *testing.T) {
	t.Parallel()
	fixed := diff.Object{Kind: "ConfigMap", Namespace: "ns", Name: "fixed", Hash: "a"}
	random := diff.Object{Kind: "Secret", Namespace: "ns", Name: "random", Hash: "b"}
	rendering := release.Rendering{Objects: []diff.Object{fixed, random}, Varying: map[string]bool{random.Key(): true}}
	if diff := cmp.Diff(map[string]string{fixed.Key(): "a", random.Key(): ""}, rendering.KnownHashes()); diff != "" {
		t.Errorf("known hashes (-want +got):\n%s", diff)
	}
	rendering.NamesVary = true
	if known := rendering.KnownHashes(); known != nil {
		t.Errorf("%v are known although there can be other objects", known)
	}
}

func TestKeepsPromise(t *testing.T) {
	t.Parallel()
	promised := map[string]string{"a": "1", "b": ""}
	tests := map[string]struct {
		hashes map[string]string
		keeps  bool
	}{
		"equal":              {hashes: map[string]string{"a": "1", "b": "2"}, keeps: true},
		"known one differs":  {hashes: map[string]string{"a": "2", "b": "2"}},
		"one is missing":     {hashes: map[string]string{"a": "1"}},
		"one more":           {hashes: map[string]string{"a": "1", "b": "2", "c": "3"}},
		"another in a place": {hashes: map[string]string{"a": "1", "c": "2"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if keeps := release.MatchesPlanned(test.hashes, promised); keeps != test.keeps {
				t.Errorf("got %t", keeps)
			}
		})
	}
}
