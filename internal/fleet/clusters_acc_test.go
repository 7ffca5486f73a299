package fleet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// TestInventory reads the clusters of a real Fleet.
func TestInventory(t *testing.T) {
	t.Parallel()
	fleet := testenv.SharedFleet(t)
	createGroup(t, fleet, "inventory-prod", map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"env": "prod"}}})
	createGroup(t, fleet, "inventory-none", map[string]any{})
	createGroup(t, fleet, "inventory-invalid", map[string]any{"selector": map[string]any{
		"matchExpressions": []any{map[string]any{"key": "env", "operator": "Near"}},
	}})
	engine := New(Settings{Namespace: testenv.FleetNamespace}, func() (Connection, error) {
		return kube.New(connect.Connection{ConfigPaths: []string{fleet.Kubeconfig()}, ConfigContext: testenv.FleetManagement}, nil)
	}, nil, &mask.Masker{})

	inventory, err := engine.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkInventory(t, inventory)

	client, err := engine.management()
	if err != nil {
		t.Fatal(err)
	}
	var paged []string
	list := clusterList(testenv.FleetNamespace)
	list.page = 1
	if _, _, err := list.read(t.Context(), client.requests, func(o clusterObject) { paged = append(paged, o.Metadata.Name) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c1", "c2", "c3"}, paged); diff != "" {
		t.Errorf("clusters of three pages (-want +got):\n%s", diff)
	}
}

func checkInventory(t *testing.T, inventory Inventory) {
	t.Helper()
	var want []target.Cluster
	for _, of := range testenv.SharedFleetClusters() {
		want = append(want, target.Cluster{
			Name: of.Name, Namespace: testenv.FleetNamespace, Labels: of.Labels,
			Annotations: map[string]string{}, TemplateValues: of.TemplateValues,
		})
	}
	if diff := cmp.Diff(want, inventory.Facts()); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	groups := map[string][]string{}
	for _, cluster := range inventory.Clusters {
		groups[cluster.Facts.Name] = cluster.Groups
		if cluster.DeploymentNamespace == "" || cluster.State == "" || cluster.IsOffline(time.Now(), DefaultOfflineAfter) {
			t.Errorf("cluster %+v: want one with a namespace and a state whose agent was seen lately", cluster)
		}
	}
	wantGroups := map[string][]string{"c1": nil, "c2": {"inventory-prod"}, "c3": {"inventory-prod"}}
	if diff := cmp.Diff(wantGroups, groups); diff != "" {
		t.Errorf("groups of the clusters (-want +got):\n%s", diff)
	}
	if len(inventory.Invalid) != 1 || inventory.Invalid[0].Name != "inventory-invalid" {
		t.Errorf("invalid groups: got %v, want inventory-invalid", inventory.Invalid)
	}
}

func createGroup(t *testing.T, fleet *testenv.Fleet, name string, spec map[string]any) {
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
}
