package acceptance_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// policyPlan is the plan that the policies of examples/policies are tested with.
const policyPlan = "../policyexamples/testdata/plan.json"

// recordedPlan is the part of a plan's JSON that policies read.
type recordedPlan struct {
	FormatVersion   string `json:"format_version"`
	Timestamp       string `json:"timestamp"`
	ResourceChanges []any  `json:"resource_changes"`
}

// The policies in examples/policies read this plan, so it must be one that Terraform prints. It has
// a target with one removal of twelve deployments, a new target, a tenant's repository, and a
// binding that is not the tenant's. Run with -update, and then run the tests of
// internal/policyexamples.
func TestAccPlanJSON(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	platform := s.namespace + "-platform"
	for i := range s.env.Contexts() {
		t.Cleanup(func() { s.cleanUp(t, i, platform) })
	}
	for _, name := range []string{"jobs", "web"} {
		w.write(t, "repo/apps/"+name+"/cm.yaml", configMap(name, "1"))
	}
	configure := func(value, customization string, more ...string) {
		w.write(t, "repo/apps/web/fleet.yaml", "defaultNamespace: "+s.namespace+"\nname: web\nhelm: {releaseName: web}\n")
		w.write(t, "repo/apps/jobs/fleet.yaml", "defaultNamespace: "+s.namespace+"\nname: jobs\nhelm: {releaseName: jobs}\n"+customization)
		w.write(t, "repo/apps/web/cm.yaml", configMap("web", value))
		w.configure(t, append([]string{
			s.policyProvider(),
			fmt.Sprintf("resource \"fleet_gitrepo\" \"shop\" {\n  name = \"tenant-shop\"\n  directory = %q\n}\n", filepath.Join(w.dir, "repo")),
			policyBundle("ingress", platform, configMap("ingress", "1")+"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: "+platform+"}\n"+
				"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\n"),
			policyBundle("metrics", platform, configMap("metrics", "1")),
			target("", "fleet_gitrepo.shop.bundles", "fleet_bundle.ingress.bundles", "fleet_bundle.metrics.bundles"),
		}, more...)...)
	}
	configure("1", "")
	w.apply(t)
	configure("2", "targetCustomizations:\n- {name: dev, clusterName: dev-1, doNotDeploy: true}\n",
		policyBundle("logs", platform, configMap("logs", "1")),
		"resource \"fleet_cluster_target\" \"logs\" {\n  name = \"logs\"\n  bundles = [fleet_bundle.logs.bundles]\n  targets = [{ cluster_name = \"prod-eu-1\" }]\n}\n")
	w.run(t, "plan", "-input=false", "-out=tfplan")
	expectRecorded(t, policyPlan, w.normalPlanJSON(t, s.namespace))
	w.run(t, "destroy", "-auto-approve") // The binding is in no namespace.
}

// policyProvider has clusters with the names of an environment, which the policies read.
func (s *fixture) policyProvider() string {
	var clusters strings.Builder
	for i, name := range []string{"dev-1", "prod-eu-1", "prod-us-1"} {
		fmt.Fprintf(&clusters, "    %s = { config_path = %q, config_context = %q, labels = { on = \"yes\" } }\n", name, s.env.Kubeconfig(), s.env.Contexts()[i])
	}
	return fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = {\n%s  }\n}\n", s.namespace, clusters.String())
}

func policyBundle(name, namespace, manifest string) string {
	return fmt.Sprintf("resource \"fleet_bundle\" %q {\n  name = %q\n  default_namespace = %q\n  files = { \"m.yaml\" = <<-Y\n%s    Y\n  }\n}\n",
		name, name, namespace, indent(manifest))
}

// normalPlanJSON is the part of the saved plan that policies read, without what differs from run to run.
func (w *workspace) normalPlanJSON(t *testing.T, namespace string) string {
	t.Helper()
	text := w.run(t, "show", "-json", "tfplan")
	start := strings.Index(text, "{") // A development override is reported before it.
	text = strings.NewReplacer(w.dir+"/", "", namespace+"-platform", "platform", namespace, "shop", "registry.opentofu.org", "registry.terraform.io").Replace(text[start:])
	text = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(text, "127.0.0.1:00000")
	text = numbered(text, `\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`, "00000000-0000-0000-0000-%012d")
	text = numbered(text, `\b[A-Z2-7]{26}\b`, "ID-%d")
	var plan recordedPlan
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&plan); err != nil {
		t.Fatalf("reading the plan: %v\n%s", err, text)
	}
	if plan.Timestamp == "" {
		t.Error("the plan has no timestamp, which a policy reads")
	}
	plan.Timestamp = "2026-03-11T09:00:00Z" // A Wednesday.
	indented, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	// Digests depend on the namespace of the test, which differs.
	text = string(indented)
	text = numbered(text, `v1-[0-9a-f]{32}`, "v1-digest-%d")
	text = regexp.MustCompile(`gz:[A-Za-z0-9_+/=-]+`).ReplaceAllString(text, "gz:")
	text = regexp.MustCompile(`2:[0-9a-f]{32}`).ReplaceAllString(text, "2:") // Has a random key.
	text = numbered(text, `\b[0-9a-f]{64}\b`, "%064d")
	text = numbered(text, `v0\.0\.0\+[0-9a-f]{12}`, "v0.0.0+%012d")
	text = numbered(text, `"[0-9a-f]{12}"`, `"%012d"`)
	text = numbered(text, ` [0-9a-f]{8}"`, ` %08d"`)
	return text + "\n"
}
