package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func wants(instance, config string, releases ...claimed) claim {
	made := claim{instance: instance, config: tfsdk.Config{Raw: tftypes.NewValue(tftypes.String, config)}, releases: map[claimed]string{}}
	for _, release := range releases {
		made.releases[release] = release.cluster + "/" + release.release
	}
	return made
}

func sameName(a, b string) bool { return a == b }

func TestClaims(t *testing.T) {
	t.Parallel()
	web, db, elsewhere := claimed{"a", "ns/web"}, claimed{"a", "ns/db"}, claimed{"b", "ns/web"}
	type step struct {
		target string
		wants  claim
	}
	tests := map[string]struct {
		before    []step
		then      step
		conflicts []conflict
		namesake  bool
	}{
		"the first":                  {then: step{"left", wants("", "1", web)}},
		"another release":            {before: []step{{"left", wants("", "1", web)}}, then: step{"right", wants("", "2", db)}},
		"another cluster":            {before: []step{{"left", wants("", "1", web)}}, then: step{"right", wants("", "2", elsewhere)}},
		"the same release":           {before: []step{{"left", wants("x", "1", web)}}, then: step{"right", wants("", "2", web, db)}, conflicts: []conflict{{release: "ns/web", target: "left", theirs: "a/ns/web", ours: "a/ns/web"}}},
		"the second leg of replace":  {before: []step{{"left", wants("x", "1", web)}}, then: step{"left", wants("", "1", web)}},
		"planned again":              {before: []step{{"left", wants("x", "1", web)}}, then: step{"left", wants("x", "1", web)}},
		"lost by the other":          {before: []step{{"left", wants("x", "1", web)}, {"left", wants("x", "1", db)}}, then: step{"right", wants("", "2", web)}},
		"two of one name, by id":     {before: []step{{"left", wants("x", "1", web)}}, then: step{"left", wants("y", "1", db)}, namesake: true},
		"two of one name, by config": {before: []step{{"left", wants("", "1", web)}}, then: step{"left", wants("", "2", db)}, namesake: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known claims
			for _, before := range test.before {
				known.add(before.target, before.wants, sameName)
			}
			conflicts, namesake := known.add(test.then.target, test.then.wants, sameName)
			if diff := cmp.Diff(test.conflicts, conflicts, cmp.AllowUnexported(conflict{})); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
			if namesake != test.namesake {
				t.Errorf("namesake = %t", namesake)
			}
		})
	}
}
