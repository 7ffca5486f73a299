package acceptance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The plan of a large fleet shows what changes and nothing else, and its state is small.
func TestAccLargeFleet(t *testing.T) {
	t.Parallel()
	clusters, bundles := 10, 8
	if testenv.Soaking() {
		bundles = 20
	}
	env := testenv.Shared(t)
	s, w := newFixture(t, env), newWorkspace(t)
	provider := s.manyClusters(t, clusters)
	data := func(value string) string { return s.manyBundles(clusters, bundles, "everywhere", value) }
	all := target("plan_objects = false", "for bundle in fleet_bundle.apps : bundle.bundles")
	w.configure(t, provider, data("everywhere"), all)
	w.apply(t)
	of := w.stored(t)
	each := (len(of.Attributes["deployments"]) + len(of.Attributes["records"]) + len(of.Attributes["clusters"]) + len(of.Private)) / (clusters * bundles)
	t.Logf("%d bytes of state for each of %d deployments; %d for the summary of each cluster, %d of private state, %d for the bundles as configured", each, clusters*bundles,
		len(of.Attributes["clusters"])/clusters, len(of.Private), len(of.Attributes["bundles"]))
	if each > 600 { // Half of it are the digests and ids in its record.
		t.Errorf("a deployment takes %d bytes of state, want 600 at most", each)
	}
	w.expectEmptyPlan(t)

	w.configure(t, provider, data("changed"), all)
	plan := strings.Join(strings.Fields(w.run(t, "plan", "-input=false")), " ") // The CLI aligns keys.
	for _, name := range []string{"\"eu-west-7/application-3\" = \"", fmt.Sprintf("(%d unchanged elements hidden)", clusters*bundles-1)} {
		if !strings.Contains(plan, name) {
			t.Errorf("the plan does not show %q:\n%s", name, plan)
		}
	}
	if strings.Contains(plan, "\"eu-west-6") || strings.Contains(plan, "\"eu-west-7/application-4") {
		t.Errorf("the plan shows what does not change:\n%s", plan)
	}
}

// manyClusters is a provider with clusters that are eu-west-0, eu-west-1 and so on. Several of them
// are one cluster, so each has a namespace of its own.
func (s *fixture) manyClusters(t *testing.T, clusters int) string {
	t.Helper()
	var entries strings.Builder
	for k := range clusters {
		name := fmt.Sprintf("eu-west-%d", k)
		fmt.Fprintf(&entries, "    %s = { config_path = %q, config_context = %q, labels = { on = \"yes\", name = %[1]q } }\n", name, s.env.Kubeconfig(), s.env.Contexts()[k%3])
		t.Cleanup(func() { s.cleanUp(t, k%3, s.namespace+"-"+name) })
	}
	return fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = {\n%s  }\n}\n", s.namespace, entries.String())
}

// manyBundles are bundles for many clusters, with a value of application-1 on all of them, and one
// of application-3 on eu-west-7.
func (s *fixture) manyBundles(clusters, bundles int, everywhere, seventh string) string {
	return fmt.Sprintf(`
resource "fleet_bundle" "apps" {
  for_each              = toset([for i in range(%d) : "application-${i}"])
  name                  = each.key
  target_customizations = [for k in range(%d) : {
    cluster_name = "eu-west-${k}"
    namespace    = "%s-eu-west-${k}"
    helm         = k == 7 && each.key == "application-3" ? { values = jsonencode({ key = %q }) } : null
  }]
  helm = { values = jsonencode({ key = each.key == "application-1" ? %q : "everywhere" }) }
  files = {
    "Chart.yaml"        = "apiVersion: v2\nname: ${each.key}\nversion: 1.0.0\n"
    "templates/cm.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${each.key}}\ndata: {key: {{ .Values.key }}}\n"
  }
}
`, bundles, clusters, s.namespace, seventh, everywhere)
}

// stored returns the only target in the state, without the white space of the file.
func (w *workspace) stored(t *testing.T) (instance struct {
	Attributes map[string]json.RawMessage `json:"attributes"`
	Private    string                     `json:"private"`
},
) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, content); err != nil {
		t.Fatal(err)
	}
	var state struct {
		Resources []struct {
			Type      string            `json:"type"`
			Instances []json.RawMessage `json:"instances"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(compact.Bytes(), &state); err != nil {
		t.Fatal(err)
	}
	for _, resource := range state.Resources {
		if resource.Type != "fleet_cluster_target" {
			continue
		}
		if err := json.Unmarshal(resource.Instances[0], &instance); err != nil {
			t.Fatal(err)
		}
		return instance
	}
	t.Fatal("no target in state")
	return instance
}

// One value that changes on fifty clusters is two lines for each of them. Changes in objects are
// shown once for clusters with equal changes, in about ten lines. Here the namespaces differ,
// because fifty entries are three clusters.
func TestAccPlanOfFiftyClusters(t *testing.T) {
	t.Parallel()
	const clusters = 50
	bundles := 2
	if testenv.Soaking() {
		bundles = 20
	}
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	provider := s.manyClusters(t, clusters)
	configure := func(value string) {
		w.configure(t, provider, s.manyBundles(clusters, bundles, value, "everywhere"), target(`diff = "summary"`, "for bundle in fleet_bundle.apps : bundle.bundles"))
	}
	configure("before")
	w.apply(t)
	configure("after")
	const forDiff = 15
	plan, _, _ := strings.Cut(normalPlan(w.run(t, "plan", "-input=false"), s.namespace), "\nWarning: Target all: several entries of clusters connect to one cluster")
	if lines, most := strings.Count(plan, "\n"), 2*clusters+60-forDiff; lines > most {
		t.Errorf("the plan has %d lines, want %d at most:\n%s", lines, most, plan)
	}
	if strings.Contains(plan, "known after apply") {
		t.Errorf("something is known after the apply only:\n%s", plan)
	}
}

// Removed deployments are one line each, and so are their objects.
func TestAccPlanOfTenRemovals(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	bundles := make([]string, 10)
	var config []string
	for i := range bundles {
		name := fmt.Sprintf("app-%d", i)
		var objects []string
		for k := range 4 {
			objects = append(objects, configMap(fmt.Sprintf("%s-%d", name, k), "x"))
		}
		bundles[i] = "fleet_bundle." + name + ".bundles"
		config = append(config, s.bundleOf(name, strings.Join(objects, "---\n")))
	}
	config = append(config, target("", bundles...))
	w.configure(t, append(config, s.provider("", on, on))...)
	w.apply(t)
	w.configure(t, append(config, s.provider("", on, `on = "no"`))...)
	plan := normalPlan(w.run(t, "plan", "-input=false"), s.namespace)
	if lines := strings.Count(plan, "\n"); lines > 80 {
		t.Errorf("the plan has %d lines, want 80 at most:\n%s", lines, plan)
	}
}
