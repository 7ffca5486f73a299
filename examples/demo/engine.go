package main

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// engineKind selects the clusters of a real Rancher Fleet, which is then the engine of the
// provider.
const engineKind = "fleet"

// engineClusters are local control planes with Fleet's controllers and agents.
type engineClusters struct{ fleet *testenv.Fleet }

func (c *engineClusters) up(ctx context.Context, work string) (string, []string, error) {
	log := func(format string, args ...any) { fmt.Printf("    "+format+"\n", args...) }
	var clusters []testenv.FleetCluster
	for _, name := range clusterNames() {
		env := "prod"
		if name == "dev" {
			env = "dev"
		}
		clusters = append(clusters, testenv.FleetCluster{Name: name, Labels: map[string]string{"env": env}})
	}
	fleet, err := testenv.StartFleet(ctx, testenv.FleetOptions{Clusters: clusters, Parent: work, Log: log})
	if err != nil {
		return "", nil, err
	}
	c.fleet = fleet
	return fleet.Kubeconfig(), clusterNames(), nil
}

func (c *engineClusters) down(ctx context.Context) error {
	if c.fleet == nil {
		return nil
	}
	return c.fleet.Stop(ctx)
}

// engineOf returns nil for clusters without Fleet.
func engineOf(c clusters) *engineClusters {
	engine, _ := c.(*engineClusters)
	return engine
}

// label sets a label of a Cluster object, as its administrator would.
func (c *engineClusters) label(ctx context.Context, cluster, key, value string) error {
	client, err := dynamic.NewForConfig(c.fleet.Management().RESTConfig())
	if err != nil {
		return fmt.Errorf("connecting to the management cluster: %w", err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{key: value}}})
	if err != nil {
		return fmt.Errorf("encoding a label: %w", err)
	}
	objects := client.Resource(schema.GroupVersionResource{Group: "fleet.cattle.io", Version: "v1alpha1", Resource: "clusters"})
	_, err = objects.Namespace(testenv.FleetNamespace).Patch(ctx, cluster, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("labeling cluster %s: %w", cluster, err)
	}
	return nil
}
