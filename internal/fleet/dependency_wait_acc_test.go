package fleet

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// agentPeriod is longer than the time after which an agent of Fleet looks again at a deployment that
// waits for another, 15 s.
const agentPeriod = 20 * time.Second

// TestAccWaitsForDependencies delivers to a cluster whose agent is a later version of Fleet than can be
// built from Go modules. The controller is real. The test plays the agent, with what such an agent writes.
func TestAccWaitsForDependencies(t *testing.T) {
	t.Parallel()
	fleet := testenv.NewFleet(t)
	namespace := registerCluster(t, fleet, "later")
	agent := laterAgent{deployments: fleetObjects(t, fleet, "bundledeployments", namespace), waiting: recordedWait(t)}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- agent.run(ctx) }()

	d := newDelivery(realEngine(t, fleet, Settings{}), "waits", "instance-waits")
	noFailures(t, d.apply(t, deploymentsFor(t, []*bundle.Bundle{
		newBundle(t, "db", "defaultNamespace: waits\n", map[string]string{"a.yaml": configMap("db", "1")}),
		newBundle(t, "web", "defaultNamespace: waits\ndependsOn: [{name: db}]\n", map[string]string{"a.yaml": configMap("web", "1")}),
	}, inventory(t, fleet))).Failures)
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"later/db": "Ready", "later/web": "Ready"}, d.states()); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if agent.waited == 0 {
		t.Error("no deployment has waited for another")
	}
}

// registerCluster registers a cluster that has no agent, reports one, and returns the namespace of
// the cluster's BundleDeployments.
func registerCluster(t *testing.T, fleet *testenv.Fleet, name string) string {
	t.Helper()
	clusters := fleetObjects(t, fleet, "clusters", testenv.FleetNamespace)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	events, err := clusters.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	cluster := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster", "spec": map[string]any{}}}
	cluster.SetName(name)
	if _, err := clusters.Create(ctx, cluster, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for event := range events.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		status, err := statusOf(object)
		switch {
		case err != nil:
			t.Fatal(err)
		case status.Namespace == "":
			continue
		case status.hasLatestReport():
			return status.Namespace
		case status.Agent.LastSeen == "":
			report := map[string]any{"agent": map[string]any{"lastSeen": metav1.Now().UTC().Format(time.RFC3339)}}
			if err := patchStatus(ctx, clusters, name, report); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Fatal("Fleet has not registered the cluster")
	return ""
}

// clusterStatus is what Fleet's controller and an agent write to the status of a Cluster.
type clusterStatus struct {
	Namespace string `json:"namespace"`
	Agent     struct {
		LastSeen string `json:"lastSeen"`
	} `json:"agent"`
	Display struct {
		State string `json:"state"`
	} `json:"display"`
	Conditions []metav1.Condition `json:"conditions"`
}

func statusOf(cluster *unstructured.Unstructured) (clusterStatus, error) {
	var read struct {
		Status clusterStatus `json:"status"`
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(cluster.Object, &read)
	return read.Status, err
}

// hasLatestReport reports whether the controller has read the agent's report. Until then it can
// overwrite the whole status with one that it read before.
func (s clusterStatus) hasLatestReport() bool {
	return s.Agent.LastSeen != "" && s.Display.State != "WaitCheckIn" && meta.FindStatusCondition(s.Conditions, "Processed") != nil
}

func recordedWait(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../conformance/testdata/conditions/waiting-for-dependency.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string]any
	if err := yaml.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	return recorded
}

// laterAgent writes the status of BundleDeployments. One that depends on another waits at first, and is
// applied when the agent looks again.
type laterAgent struct {
	deployments dynamic.ResourceInterface
	// waiting is the condition of a deployment that waits.
	waiting map[string]any
	waited  int
}

// run carries out what Fleet's controller writes until ctx ends.
func (a *laterAgent) run(ctx context.Context) error {
	events, err := a.deployments.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer events.Stop()
	again := make(chan *unstructured.Unstructured, 10)
	looked := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case object := <-again:
			err = a.apply(ctx, object)
		case event := <-events.ResultChan():
			object, ok := event.Object.(*unstructured.Unstructured)
			id := deploymentIDOf(object)
			if !ok || event.Type == watch.Deleted || id == "" || looked[object.GetName()+id] {
				continue
			}
			looked[object.GetName()+id] = true
			if dependsOn, _, _ := unstructured.NestedSlice(object.Object, "spec", "dependsOn"); len(dependsOn) == 0 {
				err = a.apply(ctx, object)
				break
			}
			a.waited++
			time.AfterFunc(agentPeriod, func() { again <- object })
			err = patchStatus(ctx, a.deployments, object.GetName(), map[string]any{"conditions": []any{a.waiting}})
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func deploymentIDOf(object *unstructured.Unstructured) string {
	if object == nil {
		return ""
	}
	id, _, _ := unstructured.NestedString(object.Object, "spec", "deploymentID")
	return id
}

func (a *laterAgent) apply(ctx context.Context, object *unstructured.Unstructured) error {
	return patchStatus(ctx, a.deployments, object.GetName(), map[string]any{
		"appliedDeploymentID": deploymentIDOf(object), "ready": true, "nonModified": true,
		"conditions": []any{map[string]any{"type": "Deployed", "status": string(corev1.ConditionTrue)}},
	})
}

func patchStatus(ctx context.Context, objects dynamic.ResourceInterface, name string, status map[string]any) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = objects.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
