package provider_test

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/providertest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// A target reads the bundles of a repository with the credentials of its own provider block. If
// those are in another block, the error says so.
func TestRepositoryOfAnotherAlias(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{Username: "u", Password: "p"})
	if _, err := server.Commit(t.Context(), "fleet", "main", "First", map[string]string{"one/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"}); err != nil {
		t.Fatal(err)
	}
	const kind = "fleet_gitrepo"
	providerOf, schemas := providertest.Schemas().Provider.ValueType(), providertest.Schemas().ResourceSchemas
	first := providertest.New(t)
	credentials := map[string]any{"owner": "acme", "git": map[string]any{server.URL(""): map[string]any{"username": "u", "password": "p"}}}
	if wrong := first.Configure(t, providertest.Typed(t, providerOf, credentials)); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	repository := providertest.Typed(t, schemas[kind].ValueType(), map[string]any{"name": "apps", "repo": server.URL("fleet"), "branch": "main"})
	planned := first.Plan(t, kind, repository, providertest.NoResource(kind))
	if len(planned.Errors) > 0 {
		t.Fatal(planned.Errors)
	}
	applied := first.Apply(t, kind, repository, providertest.NoResource(kind), planned)
	bundles := providertest.Plain(t, providertest.Attributes(t, applied.Value)["bundles"])

	second := providertest.New(t)
	clusters := map[string]any{"owner": "acme", "clusters": map[string]any{"a": map[string]any{"host": "https://127.0.0.1:1", "token": "x"}}}
	if wrong := second.Configure(t, providertest.Typed(t, providerOf, clusters)); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	config := providertest.Typed(t, schemas["fleet_cluster_target"].ValueType(), map[string]any{
		"name": "all", "bundles": []any{bundles}, "targets": []any{map[string]any{"all": true}},
	})
	plan := second.Plan(t, "fleet_cluster_target", config, providertest.NoResource("fleet_cluster_target"))
	if said := strings.Join(plan.Errors, "\n"); !strings.Contains(said, report.OtherBlockAdvice) {
		t.Errorf("the plan says:\n%s", said)
	}
}
