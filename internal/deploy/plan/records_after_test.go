package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Deployments that stay get the rules of their bundles. A deployment that the plan left out stays
// out.
func TestRecordsAfter(t *testing.T) {
	t.Parallel()
	key := func(bundle string) deploy.Key { return deploy.Key{Cluster: "a", Bundle: bundle} }
	no := false
	options := fleetyaml.Options{CorrectDrift: &fleetyaml.CorrectDrift{Enabled: &no}}
	var wanted []target.Deployment
	for _, name := range []string{"kept", "written", "left-out"} {
		wanted = append(wanted, target.Deployment{Cluster: "a", Bundle: &bundle.Bundle{Name: name}, Options: options})
	}
	change := Change{
		Keep: map[deploy.Key]bool{key("kept"): true, key("left-out"): true},
		Prior: map[deploy.Key]deploy.Record{
			key("kept"): {Digest: "old"}, key("written"): {Digest: "old"},
			key("left-out"): {Digest: "old", Known: release.Known{Release: "held"}},
		},
	}
	applied := map[deploy.Key]deploy.Record{key("written"): {Digest: "new"}}
	records, leftOut := change.RecordsAfter(applied, wanted, func(k deploy.Key) bool { return k == key("left-out") })
	want := map[deploy.Key]deploy.Record{key("kept"): {Digest: "old", Rules: release.RulesOf(options)}, key("written"): {Digest: "new"}}
	if diff := cmp.Diff(want, records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[deploy.Key]release.Known{key("left-out"): {Release: "held"}}, leftOut); diff != "" || len(applied) != 1 {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if left := Without(records, []deploy.Key{key("kept")}); len(left) != 1 || len(records) != 2 {
		t.Errorf("left are %v of %v", left, records)
	}
}
