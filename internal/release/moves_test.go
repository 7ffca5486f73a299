package release_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

func TestMovesOf(t *testing.T) {
	t.Parallel()
	objects := func(names ...string) map[string]string {
		found := map[string]string{}
		for _, name := range names {
			found[name] = "hash"
		}
		return found
	}
	losing := release.BundleObjects{Bundle: "losing", Releases: []string{"ns/losing"}, Writes: true, Has: objects("a", "x"), Wants: objects("a")}
	removed := release.BundleObjects{Bundle: "removed", Releases: []string{"ns/removed", "ns/former"}, Has: objects("x"), Wants: objects()}
	kept := release.BundleObjects{Bundle: "kept", Releases: []string{"ns/kept"}, Has: objects("a"), Wants: objects("a"), HandedOver: map[string]string{"x": "gaining"}}
	gaining := release.BundleObjects{Bundle: "gaining", Releases: []string{"ns/gaining"}, Writes: true, Has: objects("b"), Wants: objects("b", "x")}
	with := func(of release.BundleObjects, change func(*release.BundleObjects)) release.BundleObjects {
		change(&of)
		return of
	}
	moves := func(from string, releases ...string) release.Moves {
		return release.Moves{
			Leaving:  map[string]map[string]string{from: {"x": "gaining"}},
			Arriving: map[string]map[string][]string{"gaining": {"x": releases}},
		}
	}
	tests := map[string]struct {
		bundles []release.BundleObjects
		want    release.Moves
	}{
		"from one that changes":               {bundles: []release.BundleObjects{losing, gaining}, want: moves("losing", "ns/losing")},
		"in the other order":                  {bundles: []release.BundleObjects{gaining, losing}, want: moves("losing", "ns/losing")},
		"from one that goes":                  {bundles: []release.BundleObjects{removed, gaining}, want: moves("removed", "ns/removed", "ns/former")},
		"left by an earlier change":           {bundles: []release.BundleObjects{kept, gaining}, want: moves("kept", "ns/kept")},
		"both have had it":                    {bundles: []release.BundleObjects{losing, with(gaining, func(g *release.BundleObjects) { g.Has = objects("b", "x") })}, want: moves("losing", "ns/losing")},
		"nobody wants it":                     {bundles: []release.BundleObjects{losing, removed}},
		"the losing one still wants it":       {bundles: []release.BundleObjects{with(losing, func(l *release.BundleObjects) { l.Wants = l.Has }), gaining}},
		"what the losing one wants is open":   {bundles: []release.BundleObjects{with(losing, func(l *release.BundleObjects) { l.Wants = nil }), gaining}},
		"what the gaining one wants is open":  {bundles: []release.BundleObjects{losing, with(gaining, func(g *release.BundleObjects) { g.Wants = nil })}},
		"the gaining one is not written":      {bundles: []release.BundleObjects{losing, with(gaining, func(g *release.BundleObjects) { g.Writes = false })}},
		"two want it":                         {bundles: []release.BundleObjects{losing, gaining, with(gaining, func(g *release.BundleObjects) { g.Bundle = "another" })}},
		"the state does not know the objects": {bundles: []release.BundleObjects{with(losing, func(l *release.BundleObjects) { l.Has = nil }), gaining}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, release.MovesOf(test.bundles), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
		})
	}
}
