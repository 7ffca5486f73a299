package provider_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The data source tells the same as the target, and in full.
func TestAccDeploymentsDataSource(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	manifest := ""
	for i := range 6 {
		manifest += "---\n" + configMap(fmt.Sprintf("a-name-that-takes-some-room-%d", i), "x")
	}
	const asked = `
data "fleet_deployments" "all" {
  bundles = [fleet_bundle.many.bundles, fleet_bundle.later.bundles]
  targets = [{ cluster_selector = { match_labels = { on = "yes" } } }]
}
output "all" {
  value     = data.fleet_deployments.all
  sensitive = true
}
`
	bundles := s.bundleOf("many", manifest) + s.bundle("later", "x")
	w.configure(t, s.provider("", on), bundles, target("", "fleet_bundle.many.bundles"))
	w.apply(t)
	for i := range 5 {
		s.edit(t, 0, configMaps, fmt.Sprintf("a-name-that-takes-some-room-%d", i), `{"data":{"key":"edited"}}`)
	}
	s.delete(t, 0, configMaps, "a-name-that-takes-some-room-5")
	w.configure(t, s.provider("", on), bundles, target("drift = \"none\"", "fleet_bundle.many.bundles"), asked)
	w.run(t, "apply", "-auto-approve", "-input=false", "-refresh=false")

	var all struct {
		State       string `json:"state"`
		Counts      counts `json:"resource_counts"`
		Unreachable []string
		Deployments map[string]struct {
			State, Message    string
			Missing, Modified []string
		}
	}
	if err := json.Unmarshal([]byte(w.run(t, "output", "-json", "all")), &all); err != nil {
		t.Fatal(err)
	}
	if all.State != "Modified" || len(all.Unreachable) > 0 {
		t.Errorf("it is %s, unreachable: %q", all.State, all.Unreachable)
	}
	if diff := cmp.Diff(counts{Desired: 6, Modified: 5, Missing: 1}, all.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	many, later := all.Deployments["a/many"], all.Deployments["a/later"]
	if later.State != "Pending" || many.State != "Modified" {
		t.Errorf("many is %s and later is %s", many.State, later.State)
	}
	var modified []string
	for i := range 5 {
		modified = append(modified, fmt.Sprintf("ConfigMap %s/a-name-that-takes-some-room-%d: data.key", s.namespace, i))
	}
	if diff := cmp.Diff(modified, many.Modified); diff != "" {
		t.Errorf("modified (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ConfigMap " + s.namespace + "/a-name-that-takes-some-room-5"}, many.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if got := strings.Count(many.Message, "differs at data.key"); got != 5 {
		t.Errorf("the message names %d of 5 objects: %s", got, many.Message)
	}
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
