package preview

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// The texts of a configuration in a former revision are known only from its record, and only if
// this provider wrote that revision.
func TestTextsOf(t *testing.T) {
	t.Parallel()
	wanted := target.Deployment{
		Cluster: "a",
		Bundle: &bundle.Bundle{
			Name: "web", HCL: bundle.HCL{Texts: map[string]bool{"now": true}},
			Definition: fleetyaml.Definition{Options: fleetyaml.Options{Helm: &fleetyaml.Helm{Values: map[string]any{"word": "now", "image": "web:1"}}}},
		},
	}
	wanted.Options = wanted.Bundle.Definition.Options
	values := map[string]any{"word": "then", "image": "web:1", "number": 1}
	after := diff.HCLText{Texts: []string{"now"}}
	tests := map[string]struct {
		origin release.TextOrigin
		// before are the origins of revisions before the newest.
		before []release.TextOrigin
		forged bool
		want   diff.HCLText
	}{
		"nothing from a configuration": {origin: release.TextPublic},
		"values of a revision before":  {origin: release.TextPublic, before: []release.TextOrigin{release.TextPublic, release.TextOfValues}, want: diff.HCLText{Texts: []string{"then"}}},
		"files of a revision before":   {origin: release.TextOfValues, before: []release.TextOrigin{""}, want: diff.HCLText{All: true}},
		"values":                       {origin: release.TextOfValues, want: diff.HCLText{Texts: []string{"then"}}},
		"files, or not known":          {want: diff.HCLText{All: true}},
		"an origin of a newer version": {origin: "other", want: diff.HCLText{All: true}},
		"labels of somebody else":      {origin: release.TextPublic, forged: true, want: diff.HCLText{All: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := release.Claimant{Proof: release.Proof{Key: "key"}}
			observed := release.Observed{Revision: 2, Mark: release.Mark{Revision: 2, Text: test.origin}}
			if !test.forged {
				observed.MAC = own.Proof.OfLabels(observed)
			}
			var read release.Deployed
			for _, origin := range append([]release.TextOrigin{test.origin}, test.before...) {
				read.Revisions = append(read.Revisions, release.Revision{Mark: release.Mark{Text: origin}, Values: values})
			}
			if diff := cmp.Diff(diff.HCLSides{Before: test.want, After: after}, textsOf(wanted, observed, own, read)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Equal changes of many clusters are compared once, and only equal ones.
func TestChangesOf(t *testing.T) {
	t.Parallel()
	c := &diffPreview{Request: Request{Diff: plan.DiffAuto}, compared: map[[32]byte][]diff.ObjectChange{}}
	of := func(value string, texts ...string) sides {
		document := func(value string) []diff.Document {
			return []diff.Document{{
				Object:  diff.Object{Kind: "ConfigMap", Name: "web"},
				Content: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"key":"` + value + `"}}`,
			}}
		}
		return sides{before: document("before"), after: document(value), texts: diff.HCLSides{After: diff.HCLText{Texts: texts}}}
	}
	for _, step := range []struct {
		of       sides
		shows    string
		compared int
	}{
		{of: of("one"), shows: "one", compared: 1},
		{of: of("one"), shows: "one", compared: 1},
		{of: of("two"), shows: "two", compared: 2},
		{of: of("two", "two"), shows: "(from HCL, changed)", compared: 3},
	} {
		changes, err := c.changesOf(step.of)
		if err != nil || len(changes) != 1 {
			t.Fatalf("changes %v, error %v", changes, err)
		}
		want := "apiVersion: v1\ndata:\n  key: " + step.shows + "\nkind: ConfigMap\nmetadata:\n  name: web\n"
		if diff := cmp.Diff(want, changes[0].After); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if len(c.compared) != step.compared {
			t.Errorf("compared %d times, want %d", len(c.compared), step.compared)
		}
	}
}

// By default, only deployments that are in state are compared.
func TestCompares(t *testing.T) {
	t.Parallel()
	known, added := deploy.Key{Cluster: "a", Bundle: "known"}, deploy.Key{Cluster: "a", Bundle: "added"}
	prior := map[deploy.Key]deploy.Record{known: {}}
	for mode, want := range map[plan.DiffMode][2]bool{plan.DiffSummary: {}, plan.DiffAuto: {true, false}, plan.DiffRendered: {true, true}} {
		if got := [2]bool{mode.Compares(prior, known), mode.Compares(prior, added)}; got != want {
			t.Errorf("%s compares %v, want %v", mode, got, want)
		}
	}
}
