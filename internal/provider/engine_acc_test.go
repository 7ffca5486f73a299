package provider_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// engineConfig has a chart, plain manifests and a kustomization on the clusters of a Fleet.
func engineConfig(namespace, size, rule string) string {
	return fmt.Sprintf(`
resource "fleet_bundle" "chart" {
  name              = "chart"
  default_namespace = %[1]q
  files = {
    "web/Chart.yaml"         = "apiVersion: v2\nname: web\nversion: 1.2.3\n"
    "web/templates/all.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {zone: {{ .Values.zone }}, size: {{ .Values.size | quote }}}\n"
  }
  helm = { chart = "./web", release_name = "web", values = jsonencode({ zone = "$${ .ClusterValues.zone }", size = %[2]q }) }
}

resource "fleet_bundle" "plain" {
  name              = "plain"
  default_namespace = %[1]q
  files             = { "all.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n" }
}

resource "fleet_bundle" "overlay" {
  name              = "overlay"
  default_namespace = %[1]q
  kustomize         = { dir = "base" }
  files = {
    "base/kustomization.yaml" = "namePrefix: kust-\nresources: [all.yaml]\n"
    "base/all.yaml"           = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: omized}\n"
  }
  depends_on_bundles = [{ name = "plain" }]
}

resource "fleet_cluster_target" "prod" {
  name    = "prod"
  bundles = [fleet_bundle.chart.bundles, fleet_bundle.plain.bundles, fleet_bundle.overlay.bundles]
  targets = [%[3]s]
}

output "deployments" { value = fleet_cluster_target.prod.deployments }
output "not_ready" { value = fleet_cluster_target.prod.not_ready }
output "clusters" { value = fleet_cluster_target.prod.clusters }
`, namespace, size, rule)
}

// The main story of a target that a real Fleet delivers: create, plan again, change, take a cluster
// out, destroy.
func TestAccEngine(t *testing.T) {
	t.Parallel()
	fleet, w := testenv.SharedFleet(t), newWorkspace(t)
	const namespace = "acc-engine"
	provider := engineProvider(fleet, "")
	everywhere := "{ cluster_selector = {} }"

	w.configure(t, provider, engineConfig(namespace, "1", everywhere))
	plan := unwrapped(w.run(t, "plan", "-input=false", "-out=tfplan"))
	for _, part := range []string{`"c1/chart"`, "web-1.2.3 acc-engine/web", "ConfigMap/acc-engine/kust-omized", "+9 ~0 -0 =0"} {
		if !strings.Contains(plan, part) {
			t.Errorf("the plan does not show %q:\n%s", part, plan)
		}
	}
	w.run(t, "apply", "-input=false", "tfplan")
	w.expectEmptyPlan(t)
	var deployments, clusters map[string]string
	decode(t, []byte(w.run(t, "output", "-json", "deployments")), &deployments)
	decode(t, []byte(w.run(t, "output", "-json", "clusters")), &clusters)
	if got, want := len(deployments), 9; got != want {
		t.Errorf("deployments: got %d, want %d", got, want)
	}
	all := "3/3 deployments, 3/3 objects"
	if diff := cmp.Diff(map[string]string{"c1": all, "c2": all, "c3": all}, clusters); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	wantMaps(t, fleet, namespace, map[string][]string{"c1": {"kust-omized", "plain", "web"}, "c2": {"kust-omized", "plain", "web"}, "c3": {"kust-omized", "plain", "web"}})

	w.configure(t, provider, engineConfig(namespace, "2", everywhere))
	w.run(t, "apply", "-auto-approve", "-input=false")
	w.expectEmptyPlan(t)

	w.configure(t, provider, engineConfig(namespace, "2", `{ cluster_selector = { match_labels = { env = "prod" } } }`))
	w.run(t, "apply", "-auto-approve", "-input=false")
	w.expectEmptyPlan(t)
	wantMaps(t, fleet, namespace, map[string][]string{"c1": nil, "c2": {"kust-omized", "plain", "web"}, "c3": {"kust-omized", "plain", "web"}})

	w.run(t, "destroy", "-auto-approve", "-input=false")
	wantMaps(t, fleet, namespace, map[string][]string{"c1": nil, "c2": nil, "c3": nil})
}

// wantMaps compares the ConfigMaps of a namespace on the clusters of a Fleet.
func wantMaps(t *testing.T, fleet *testenv.Fleet, namespace string, want map[string][]string) {
	t.Helper()
	got := map[string][]string{}
	for _, cluster := range slices.Sorted(maps.Keys(want)) {
		client, err := kubernetes.NewForConfig(fleet.Cluster(cluster).RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		got[cluster] = nil
		found, err := client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		for _, object := range found.Items {
			if object.Name != "kube-root-ca.crt" {
				got[cluster] = append(got[cluster], object.Name)
			}
		}
		slices.Sort(got[cluster])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ConfigMaps in namespace %s (-want +got):\n%s", namespace, diff)
	}
}

