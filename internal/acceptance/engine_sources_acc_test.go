package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// expectSourcesAndPolicies delivers images by policy and a chart that follows its constraint. Plans
// resolve the versions, and Fleet gets the versions of the plan. After a violation of a policy no
// Bundle is written.
func expectSourcesAndPolicies(t *testing.T, fleet *testenv.Fleet) {
	t.Helper()
	s := engineStory{fleet: fleet, w: newWorkspace(t), namespace: "acc-engine-sources"}
	server := charttest.New(t, charttest.Options{})
	server.PushImage("acme/web", "1.0.0")
	server.AddChart(chartOf("db", "1.0.0"))
	image := strings.TrimPrefix(server.RegistryURL("acme/web"), "oci://")
	repository := gittest.New(t, gittest.Options{})
	files := map[string]string{
		"web/fleet.yaml": fmt.Sprintf("defaultNamespace: %s\nimageScans:\n- image: %s\n  tagName: web\n  interval: 5m\n  policy: {semver: {range: 1.x}}\n", s.namespace, image),
		"web/cm.yaml":    strings.Replace(configMap("web", "old"), "\"old\"", "\"old\" # {\"$imagescan\": \"web:digest\"}", 1),
		"db/fleet.yaml":  fmt.Sprintf("defaultNamespace: %s\nhelm: {repo: %s, chart: db, version: ~1}\n", s.namespace, server.RepositoryURL()),
	}
	if _, err := repository.Commit(t.Context(), "fleet", "main", "Add bundles", files); err != nil {
		t.Fatal(err)
	}
	configure := func(policy string) {
		t.Helper()
		settings := fmt.Sprintf("  owner  = \"acc\"\n  registries = { %q = { plain_http = true }, %q = {} }\n  policies = { tenants = { applies_to = { all = true }, %s } }", server.RegistryURL("acme"), server.RepositoryURL(), policy)
		s.w.configure(t, strings.Replace(engineProvider(fleet, ""), `  owner  = "acc"`, settings, 1), fmt.Sprintf(`
resource "fleet_gitrepo" "apps" {
  name          = "apps"
  repo          = %q
  branch        = "main"
  image_scans   = true
  follow_charts = "constraint"
}

resource "fleet_cluster_target" "sources" {
  name    = "sources"
  bundles = [fleet_gitrepo.apps.bundles]
  targets = [{ cluster_name = "c1" }]
}
`, repository.URL("fleet")))
	}
	expect := func(tag, version string) {
		t.Helper()
		got := map[string]string{}
		for _, name := range []string{"web", "db"} {
			found, err := s.configMaps(t, "c1").Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got[name] = found.Data["key"]
		}
		want := map[string]string{"web": image + ":" + tag + "@" + server.Reference("acme/web", tag), "db": version + " default"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("texts on c1 (-want +got):\n%s", diff)
		}
	}

	configure(`denied_kinds = ["ConfigMap"]`)
	s.w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "policy tenants (denied_kinds) refuses", "c1/apps-web", "the kind is denied")
	bundles, err := s.objects(t, "bundles").List(t.Context(), metav1.ListOptions{LabelSelector: "agentless-fleet.github.io/target=sources"})
	if err != nil || len(bundles.Items) > 0 {
		t.Errorf("%d Bundles were written in spite of the policy, error %v", len(bundles.Items), err)
	}

	configure(`denied_kinds = ["Secret"]`)
	s.w.apply(t)
	expect("1.0.0", "1.0.0")
	s.w.expectEmptyPlan(t)

	server.PushImage("acme/web", "1.1.0")
	server.AddChart(chartOf("db", "1.1.0"))
	if diff := cmp.Diff([]string{"~ c1/apps-db", "~ c1/apps-web"}, s.w.plannedChanges(t)); diff != "" {
		t.Errorf("a newer image and a newer chart (-want +got):\n%s", diff)
	}
	server.PushImage("acme/web", "1.2.0")
	s.w.run(t, "apply", "-input=false", "tfplan")
	expect("1.1.0", "1.1.0")
	s.w.run(t, "destroy", "-auto-approve", "-input=false")
}
