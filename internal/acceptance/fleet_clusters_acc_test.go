package acceptance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

type fleetCluster struct {
	Labels, Annotations map[string]string
	TemplateValues      string `json:"template_values"`
	Namespace           string
	Paused, Offline     bool
	Groups              []string
	DeploymentNamespace string `json:"deployment_namespace"`
	LastSeen            string `json:"last_seen"`
	State               string
}

// expectFleetClusters reads the clusters of a real Fleet, and gives them to another provider as its
// configuration. Nothing may be delivered during this test, because the state of a cluster is part
// of its facts.
func expectFleetClusters(t *testing.T, fleet *testenv.Fleet) {
	t.Helper()
	w := newWorkspace(t)
	createFleetGroup(t, fleet, "acc-prod", map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"env": "prod"}}})
	createFleetGroup(t, fleet, "acc-nothing", map[string]any{})
	createFleetGroup(t, fleet, "acc-invalid", map[string]any{"selector": map[string]any{
		"matchExpressions": []any{map[string]any{"key": "env", "operator": "Near"}},
	}})
	w.configure(t, engineProvider(fleet, "namespace = \"fleet-default\"\noffline_after = \"1h\""), `
data "fleet_clusters" "all" {}

provider "fleet" {
  alias          = "pinned"
  owner          = "pinned"
  clusters       = data.fleet_clusters.all.clusters
  cluster_groups = data.fleet_clusters.all.cluster_groups
}

resource "fleet_bundle" "web" {
  name  = "web"
  files = { "all.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n" }
  helm  = { values = jsonencode({ zone = "$${ .ClusterValues.zone }" }) }
}

data "fleet_render" "by_group" {
  provider = fleet.pinned
  bundles  = [fleet_bundle.web.bundles]
  targets  = [{ cluster_group = "acc-prod" }, { cluster_group = "acc-nothing" }]
}

output "all" { value = data.fleet_clusters.all }
output "matched" { value = { for key, d in data.fleet_render.by_group.deployments : key => jsondecode(nonsensitive(d.options)).helm.values.zone } }
`)
	text := unwrapped(w.run(t, "apply", "-auto-approve", "-input=false"))
	for _, part := range []string{"Cluster groups with an invalid selector", "acc-invalid"} {
		if !strings.Contains(text, part) {
			t.Errorf("the apply does not report %q:\n%s", part, text)
		}
	}
	w.expectEmptyPlan(t)

	var all struct {
		Namespace     string
		Clusters      map[string]fleetCluster
		ClusterGroups map[string]any `json:"cluster_groups"`
	}
	decode(t, []byte(w.run(t, "output", "-json", "all")), &all)
	for name, cluster := range all.Clusters {
		if seen, err := time.Parse(time.RFC3339, cluster.LastSeen); err != nil || time.Since(seen) > time.Hour || cluster.DeploymentNamespace == "" {
			t.Errorf("cluster %s: got %+v, want an agent that was seen, and a namespace", name, cluster)
		}
		cluster.LastSeen, cluster.DeploymentNamespace = "", ""
		all.Clusters[name] = cluster
	}
	want := map[string]fleetCluster{}
	for _, of := range testenv.SharedFleetClusters() {
		cluster := fleetCluster{
			Labels: of.Labels, Annotations: map[string]string{}, Namespace: "fleet-default", State: "Ready",
			TemplateValues: fmt.Sprintf(`{"zone":%q}`, of.TemplateValues["zone"]), Groups: []string{},
		}
		if of.Labels["env"] == "prod" {
			cluster.Groups = []string{"acc-prod"}
		}
		want[of.Name] = cluster
	}
	if diff := cmp.Diff(want, all.Clusters); diff != "" || all.Namespace != "fleet-default" {
		t.Errorf("clusters of namespace %s (-want +got):\n%s", all.Namespace, diff)
	}
	for _, name := range []string{"acc-prod", "acc-nothing", "acc-invalid"} {
		if all.ClusterGroups[name] == nil {
			t.Errorf("groups: got %v, want %s among them", all.ClusterGroups, name)
		}
	}
	var matched map[string]string
	decode(t, []byte(w.run(t, "output", "-json", "matched")), &matched)
	if diff := cmp.Diff(map[string]string{"c2/web": "zone-of-c2", "c3/web": "zone-of-c3"}, matched); diff != "" {
		t.Errorf("clusters that the pinned provider selects, with their template values (-want +got):\n%s", diff)
	}
}

func TestAccFleetClustersErrors(t *testing.T) {
	t.Parallel()
	fleet := testenv.SharedFleet(t)
	const read = "data \"fleet_clusters\" \"all\" {}\n"
	tests := map[string]struct {
		config string
		want   []string
	}{
		"no engine": {
			config: "provider \"fleet\" { owner = \"o\" }\n" + read,
			want:   []string{"The provider has no engine", "Set engine in the provider block"},
		},
		"an unknown context": {
			config: "resource \"terraform_data\" \"context\" { input = \"mgmt\" }\n" +
				fmt.Sprintf("provider \"fleet\" {\n  owner = \"o\"\n  engine = { config_path = %q, config_context = terraform_data.context.output }\n}\n", fleet.Kubeconfig()) + read,
			want: []string{"Cannot read the clusters of Fleet", "The provider's engine is not known yet"},
		},
		"two ways to connect": {
			config: engineProvider(fleet, "host = \"https://127.0.0.1:1\"\ntoken = \"x\"") + read,
			want:   []string{"Invalid connection of the management cluster"},
		},
		"a namespace that is none": {
			config: engineProvider(fleet, "namespace = \"No\"") + read,
			want:   []string{"must be a DNS label"},
		},
		"no duration": {
			config: engineProvider(fleet, "offline_after = \"soon\"") + read,
			want:   []string{"Invalid duration"},
		},
		"no rights": {
			config: fmt.Sprintf("provider \"fleet\" {\n  owner = \"o\"\n  engine = { host = %q, token = \"wrong-token-of-nobody\", insecure = true }\n}\n", fleet.Management().Host()) + read,
			want:   []string{"Cannot read the clusters of Fleet", "it denies the request", "clustergroups of the API group fleet.cattle.io"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.configure(t, test.config)
			w.fail(t, []string{"plan", "-input=false"}, test.want...)
		})
	}
}

// engineProvider is a provider with the engine of a Fleet and further settings of the engine.
func engineProvider(fleet *testenv.Fleet, settings string) string {
	return fmt.Sprintf(`
provider "fleet" {
  owner  = "acc"
  engine = {
    config_path    = %q
    config_context = %q
    %s
  }
}
`, fleet.Kubeconfig(), testenv.FleetManagement, settings)
}

func createFleetGroup(t *testing.T, fleet *testenv.Fleet, name string, spec map[string]any) {
	t.Helper()
	client, err := dynamic.NewForConfig(fleet.Management().RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	groups := client.Resource(schema.GroupVersionResource{Group: "fleet.cattle.io", Version: "v1alpha1", Resource: "clustergroups"}).Namespace(testenv.FleetNamespace)
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "ClusterGroup", "spec": spec}}
	object.SetName(name)
	if _, err := groups.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := groups.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}
