package provider

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// A target reads the bundles of a repository with the credentials of its own provider block. If
// those are in another block, the error says so.
func TestRepositoryOfAnotherAlias(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{Username: "u", Password: "p"})
	if _, err := server.Commit(t.Context(), "fleet", "main", "First", map[string]string{"one/cm.yaml": manifest}); err != nil {
		t.Fatal(err)
	}
	c := newTerraform(t)
	s := &samples{c: c}
	repository := s.of(t, "repository", "fleet_gitrepo", s.providerOf(t, map[string]any{"git": map[string]any{server.URL(""): map[string]any{"username": "u", "password": "p"}}}),
		map[string]any{"name": "apps", "repo": server.URL("fleet"), "branch": "main"})
	bundles := plainOf(t, attributesOf(t, repository.state.value)["bundles"])
	if wrong := c.configure(t, s.providerOf(t, map[string]any{"clusters": map[string]any{"a": map[string]any{"host": "https://127.0.0.1:1", "token": "x"}}})); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	config := typedOf(t, c.schemas.ResourceSchemas["fleet_cluster_target"].ValueType(), map[string]any{
		"name": "all", "bundles": []any{bundles}, "targets": []any{map[string]any{"all": true}},
	})
	plan := c.plan(t, "fleet_cluster_target", config, c.none("fleet_cluster_target"))
	if said := strings.Join(plan.wrong, "\n"); !strings.Contains(said, report.OtherBlockAdvice) {
		t.Errorf("the plan says:\n%s", said)
	}
}
