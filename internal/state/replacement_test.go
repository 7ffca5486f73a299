package state_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
)

func TestReplacementMarkerRemovals(t *testing.T) {
	t.Parallel()
	one := deploy.Record{Release: "one", Namespace: "ns"}
	records := map[deploy.Key]deploy.Record{{Cluster: "a", Bundle: "one"}: one, {Cluster: "b", Bundle: "one"}: one}
	tests := map[string]struct {
		marker state.ReplacementMarker
		want   []string
	}{
		"a destroy removes all":                        {marker: state.ReplacementMarker{}, want: []string{"a/one", "b/one"}},
		"a replacement keeps what Create wants":        {marker: state.ReplacementMarker{Planned: true, Target: "all", Wanted: map[string]string{"a/one": "ns/one", "c/one": "ns/one"}}, want: []string{"b/one"}},
		"a replacement that wants it elsewhere":        {marker: state.ReplacementMarker{Planned: true, Target: "all", Wanted: map[string]string{"a/one": "elsewhere/one", "b/one": "ns/one"}}},
		"a replacement of another name":                {marker: state.ReplacementMarker{Planned: true, Target: "other", Wanted: map[string]string{"a/one": "ns/one", "b/one": "ns/one"}}},
		"a replacement that wants nothing":             {marker: state.ReplacementMarker{Planned: true, Target: "all"}, want: []string{"a/one", "b/one"}},
		"a replacement whose wishes are not known yet": {marker: state.ReplacementMarker{Planned: true, Target: "all", Unknown: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The marker is stored and loaded first.
			stored := reloaded(t, state.Private{Replacement: test.marker}).Replacement
			var got []string
			for _, key := range stored.Removals(records) {
				got = append(got, key.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
