package source_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

func TestReadListedBundles(t *testing.T) {
	t.Parallel()
	store := source.New(source.Config{})
	made := map[string]source.Listed{}
	for _, name := range []string{"web", "db"} {
		spec := source.Spec{
			Files:      map[string]string{"config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"},
			Definition: &source.Definition{Name: name},
		}
		for of, generated := range generate(t, store, spec) {
			made[of] = source.Listed{Element: source.Element{Digest: generated.Bundle.Digest, Descriptor: generated.Descriptor}, IsKnown: true}
		}
	}
	web, db := map[string]source.Listed{"web": made["web"]}, map[string]source.Listed{"db": made["db"]}
	one := func(name string, listed source.Listed) []map[string]source.Listed {
		return []map[string]source.Listed{web, {name: listed}}
	}
	damaged := source.Listed{Element: source.Element{Digest: "d", Descriptor: "damaged"}, IsKnown: true}
	tests := map[string]struct {
		listed       []map[string]source.Listed
		unreadable   map[string]error
		needsUnknown bool
		names        []string
		unknown      string
		wrong        string
	}{
		"none":                         {},
		"sorted by their names":        {listed: []map[string]source.Listed{web, db}, names: []string{"db", "web"}},
		"unknown map":                  {listed: []map[string]source.Listed{web, nil}, unknown: "the bundles"},
		"unknown element":              {listed: one("new", source.Listed{}), unknown: "the bundle new"},
		"unknown content":              {listed: one("new", source.Listed{Element: source.Element{Digest: "d"}, IsKnown: true}), unknown: "the content of bundle new"},
		"unknown credentials":          {listed: one("new", damaged), needsUnknown: true, unknown: "the credentials for bundle new"},
		"two of one name":              {listed: []map[string]source.Listed{web, web}, wrong: "two bundles are named web"},
		"unreadable":                   {listed: one("new", damaged), wrong: "reading bundle new: "},
		"unreadable, and left aside":   {listed: one("new", damaged), unreadable: map[string]error{}, names: []string{"web"}},
		"the first one cannot be read": {listed: one("a", damaged), wrong: "reading bundle a: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader := source.BundleReader{Store: store, Unreadable: test.unreadable, NeedsUnknown: func(err error) bool { return test.needsUnknown && err != nil }}
			bundles, unknown, err := reader.Read(t.Context(), test.listed)
			var names []string
			for _, b := range bundles {
				names = append(names, b.Name)
			}
			if diff := cmp.Diff(test.names, names); diff != "" || unknown != test.unknown {
				t.Errorf("unknown %q, bundles (-want +got):\n%s", unknown, diff)
			}
			if (err != nil) != (test.wrong != "") || err != nil && !strings.HasPrefix(err.Error(), test.wrong) {
				t.Errorf("error %v, want %q", err, test.wrong)
			}
			if test.unreadable != nil && test.unreadable["new"] == nil {
				t.Error("what cannot be read is not noted")
			}
		})
	}
}
