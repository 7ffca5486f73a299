package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// fleetClient reads the BundleDeployments of a Fleet directly, without the proxy.
type fleetClient struct{ client dynamic.Interface }

func newFleetClient(fleet *testenv.Fleet) (fleetClient, error) {
	client, err := dynamic.NewForConfig(fleet.Management().RESTConfig())
	if err != nil {
		return fleetClient{}, fmt.Errorf("making a client of the management cluster: %w", err)
	}
	return fleetClient{client: client}, nil
}

// applied returns the deployment IDs of all existing BundleDeployments by their names. A
// BundleDeployment that is not applied is an error.
func (c fleetClient) applied(ctx context.Context) (map[string]string, error) {
	const page = 500
	resource := c.client.Resource(schema.GroupVersionResource{Group: "fleet.cattle.io", Version: "v1alpha1", Resource: "bundledeployments"})
	found := map[string]string{}
	options := metav1.ListOptions{Limit: page}
	for {
		list, err := resource.List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("listing BundleDeployments: %w", err)
		}
		for _, item := range list.Items {
			key := item.GetNamespace() + "/" + item.GetName()
			wanted, _, _ := unstructured.NestedString(item.Object, "spec", "deploymentID")
			reported, _, _ := unstructured.NestedString(item.Object, "status", "appliedDeploymentID")
			if wanted == "" || wanted != reported {
				return nil, fmt.Errorf("BundleDeployment %s is not applied", key)
			}
			found[key] = wanted
		}
		options.Continue = list.GetContinue()
		if options.Continue == "" {
			return found, nil
		}
	}
}
