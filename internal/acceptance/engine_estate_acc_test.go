package acceptance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// estateManifests are what a GitRepo of Fleet delivers: more ConfigMaps than identities wants, and a
// Deployment.
const estateManifests = `apiVersion: v1
kind: ConfigMap
metadata: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: third}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example.com/web}]}
`

// estateBundle is a Bundle as a GitRepo of Fleet makes it of the folder web.
func estateBundle(namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Bundle",
		"metadata": map[string]any{
			"name": "estate-web", "namespace": testenv.FleetNamespace,
			"labels": map[string]any{"fleet.cattle.io/repo-name": "estate", "fleet.cattle.io/bundle-path": "web"},
		},
		"spec": map[string]any{
			"defaultNamespace": namespace,
			"resources":        []any{map[string]any{"name": "all.yaml", "content": estateManifests}},
			"targets":          []any{map[string]any{"clusterSelector": map[string]any{}}},
		},
	}}
}

// estateConfig delivers the same folder by the engine.
func estateConfig(namespace string, keep bool) string {
	return fmt.Sprintf(`
resource "fleet_bundle" "web" {
  name              = "estate-web"
  default_namespace = %q
  keep_resources    = %t
  files             = { "all.yaml" = %q }
}

resource "fleet_cluster_target" "prod" {
  name    = "estate"
  bundles = [fleet_bundle.web.bundles]
  targets = [%s]
}
`, namespace, keep, estateManifests, everyCluster)
}

// expectEstateUnderPlans lets a target take over what a GitRepo of Fleet delivers, and returns it
// to Fleet, as in the guide. No object is created again.
func expectEstateUnderPlans(t *testing.T, fleet *testenv.Fleet) {
	t.Helper()
	w := newWorkspace(t)
	const namespace = "acc-engine-estate"
	s := engineStory{fleet: fleet, w: w, namespace: namespace}
	s.createEstate(t)
	before := identities(t, fleet, namespace)

	s.releaseEstate(t)
	w.configure(t, engineProvider(fleet, ""), estateConfig(namespace, false))
	w.apply(t)
	w.expectEmptyPlan(t)
	if diff := cmp.Diff(before, identities(t, fleet, namespace)); diff != "" {
		t.Errorf("objects under plans (-before +after):\n%s", diff)
	}

	w.configure(t, engineProvider(fleet, ""), estateConfig(namespace, true))
	w.apply(t)
	w.run(t, "destroy", "-auto-approve", "-input=false")
	if diff := cmp.Diff(before, identities(t, fleet, namespace)); diff != "" {
		t.Errorf("objects that nobody delivers (-before +after):\n%s", diff)
	}
	s.createEstate(t)
	if diff := cmp.Diff(before, identities(t, fleet, namespace)); diff != "" {
		t.Errorf("objects after the way back (-before +after):\n%s", diff)
	}
	s.deleteEstate(t)
}

// expectFromFleetAndBack does the same without an engine, as in the guide about ownership. The
// provider takes over what Fleet has delivered, and gives it back by a removed block.
func expectFromFleetAndBack(t *testing.T, fleet *testenv.Fleet) {
	t.Helper()
	w := newWorkspace(t)
	const namespace = "acc-from-fleet"
	s := engineStory{fleet: fleet, w: w, namespace: namespace}
	direct, config := directProvider(fleet, ""), estateConfig(namespace, false)
	target := `resource "fleet_cluster_target"`
	bundle, owning, _ := strings.Cut(config, target)
	s.createEstate(t)
	before := identities(t, fleet, namespace)

	w.configure(t, engineProvider(fleet, ""), config)
	w.fail(t, []string{"plan", "-input=false"}, "another owner delivers", "is already delivered by Bundle fleet-default/estate-web", "Next: Remove these clusters from the other Bundle")

	s.releaseEstate(t)
	w.configure(t, direct, bundle+target+strings.Replace(owning, "{\n", "{\n  take_ownership = true\n", 1))
	w.run(t, "apply", "-auto-approve", "-input=false")
	w.configure(t, direct, config)
	w.apply(t)
	w.expectEmptyPlan(t)
	if diff := cmp.Diff(before, identities(t, fleet, namespace)); diff != "" {
		t.Errorf("objects taken over (-before +after):\n%s", diff)
	}

	w.configure(t, direct, bundle, "removed {\n  from = fleet_cluster_target.prod\n  lifecycle {\n    destroy = false\n  }\n}\n")
	w.run(t, "apply", "-auto-approve", "-input=false")
	s.createEstate(t)
	if diff := cmp.Diff(before, identities(t, fleet, namespace)); diff != "" {
		t.Errorf("objects given back (-before +after):\n%s", diff)
	}
	s.deleteEstate(t)
}

// createEstate lets Fleet deliver the estate, and waits until it is ready everywhere.
func (s engineStory) createEstate(t *testing.T) {
	t.Helper()
	if _, err := s.objects(t, "bundles").Create(t.Context(), estateBundle(s.namespace), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.awaitEstate(t, "Fleet to deliver the estate", func(of *unstructured.Unstructured) bool {
		ready, _, _ := unstructured.NestedBool(of.Object, "status", "ready")
		unchanged, _, _ := unstructured.NestedBool(of.Object, "status", "nonModified")
		return ready && unchanged && isEstateApplied(of)
	})
}

// releaseEstate deletes the Bundle with keepResources, as in the guide.
func (s engineStory) releaseEstate(t *testing.T) {
	t.Helper()
	keep := []byte(`{"spec": {"keepResources": true}}`)
	if _, err := s.objects(t, "bundles").Patch(t.Context(), "estate-web", types.MergePatchType, keep, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.awaitEstate(t, "the agents to keep the objects", func(of *unstructured.Unstructured) bool {
		keeps, _, _ := unstructured.NestedBool(of.Object, "spec", "options", "keepResources")
		return keeps && isEstateApplied(of)
	})
	s.deleteEstate(t)
}

// deleteEstate deletes the Bundle, and waits until a Bundle of its name can be created again.
func (s engineStory) deleteEstate(t *testing.T) {
	t.Helper()
	if err := s.objects(t, "bundles").Delete(t.Context(), "estate-web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until(t, "Fleet to forget the estate", func(ctx context.Context) (bool, error) {
		if _, err := s.objects(t, "bundles").Get(ctx, "estate-web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return false, err
		}
		found, err := s.allObjects(t, "bundledeployments").List(ctx, metav1.ListOptions{LabelSelector: "fleet.cattle.io/bundle-name=estate-web"})
		return err == nil && len(found.Items) == 0, err
	})
}

func isEstateApplied(of *unstructured.Unstructured) bool {
	wanted, _, _ := unstructured.NestedString(of.Object, "spec", "deploymentID")
	staged, _, _ := unstructured.NestedString(of.Object, "spec", "stagedDeploymentID")
	applied, _, _ := unstructured.NestedString(of.Object, "status", "appliedDeploymentID")
	return wanted != "" && wanted == staged && wanted == applied
}

// awaitEstate waits until each of the three clusters is as wanted.
func (s engineStory) awaitEstate(t *testing.T, what string, isDone func(*unstructured.Unstructured) bool) {
	t.Helper()
	s.until(t, what, func(ctx context.Context) (bool, error) {
		found, err := s.allObjects(t, "bundledeployments").List(ctx, metav1.ListOptions{LabelSelector: "fleet.cattle.io/bundle-name=estate-web"})
		if err != nil {
			return false, err
		}
		done := 0
		for i := range found.Items {
			if isDone(&found.Items[i]) {
				done++
			}
		}
		return done == len(testenv.SharedFleetClusters()), nil
	})
}
