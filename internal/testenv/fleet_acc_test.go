package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// TestFleet uses one Fleet as tests of the engine do.
//
// Its parts are not parallel, because some stop parts of the Fleet that all use.
func TestFleet(t *testing.T) {
	Require(t)
	RequireSoak(t)
	fleet := NewFleet(t,
		FleetCluster{Name: "dev", Labels: map[string]string{"env": "dev"}, TemplateValues: map[string]any{"zone": "a"}},
		FleetCluster{Name: "prod", Labels: map[string]string{"env": "prod"}, TemplateValues: map[string]any{"zone": "b"}},
	)
	bundles := bundleClient(t, fleet)
	t.Run("every process belongs to the environment", func(t *testing.T) { checkProcesses(t, fleet) })
	t.Run("a Bundle is deployed and removed", func(t *testing.T) {
		createBundle(t, bundles, "seen", "dev")
		untilDeployed(t, fleet, "dev", "seen", "zone-a")
		if _, err := getDelivered(t, fleet, "prod", "seen"); !apierrors.IsNotFound(err) {
			t.Errorf("a cluster that the Bundle does not select: got error %v, want not found", err)
		}
		removeBundle(t, bundles, "seen")
		untilRemoved(t, fleet, "dev", "seen")
	})
	t.Run("an agent that is lost deploys nothing until it is started", func(t *testing.T) {
		if err := fleet.LoseAgent(t.Context(), "prod"); err != nil {
			t.Fatal(err)
		}
		checkLost(t, fleet, "prod")
		createBundle(t, bundles, "late", "prod")
		until(t, "the BundleDeployment is there", func(ctx context.Context) error {
			return bundleDeploymentExists(ctx, fleet, "late")
		})
		if _, err := getDelivered(t, fleet, "prod", "late"); !apierrors.IsNotFound(err) {
			t.Errorf("before the agent was started: got error %v, want not found", err)
		}
		if err := fleet.StartAgent(t.Context(), "prod"); err != nil {
			t.Fatal(err)
		}
		untilDeployed(t, fleet, "prod", "late", "zone-b")
		removeBundle(t, bundles, "late")
		untilRemoved(t, fleet, "prod", "late")
	})
	t.Run("a controller that was killed delivers after its start what was written meanwhile", func(t *testing.T) {
		if err := fleet.StopController(t.Context()); err != nil {
			t.Fatal(err)
		}
		createBundle(t, bundles, "missed", "dev")
		if err := fleet.StartController(t.Context()); err != nil {
			t.Fatal(err)
		}
		untilDeployed(t, fleet, "dev", "missed", "zone-a")
	})
}

// TestFleetSimulated delivers to simulated clusters.
func TestFleetSimulated(t *testing.T) {
	t.Parallel()
	Require(t)
	RequireSoak(t)
	fleet := NewFleet(t)
	var clusters []FleetCluster
	for i := range simulatedClusters() {
		clusters = append(clusters, FleetCluster{Name: fmt.Sprintf("s%03d", i), Labels: map[string]string{"env": "sim"}, TemplateValues: map[string]any{"zone": "z"}})
	}
	began := time.Now()
	simulation, err := fleet.Simulate(t.Context(), clusters)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d clusters after %s", len(clusters), time.Since(began).Round(time.Second))
	began = time.Now()
	bundles := bundleClient(t, fleet)
	createBundle(t, bundles, "many", "sim")
	untilReady(t, bundles, "many", len(clusters))
	t.Logf("ready on all after %s", time.Since(began).Round(time.Second))

	simulation.Stop()
	createBundle(t, bundles, "unseen", "sim")
	until(t, "the BundleDeployments are there", func(ctx context.Context) error {
		found, err := bundleDeployments(ctx, fleet, "unseen")
		if err == nil && len(found) != len(clusters) {
			err = fmt.Errorf("there are %d", len(found))
		}
		return err
	})
	found, err := bundleDeployments(t.Context(), fleet, "unseen")
	if err != nil {
		t.Fatal(err)
	}
	for _, deployment := range found {
		if applied, _, _ := unstructured.NestedString(deployment.Object, "status", "appliedDeploymentID"); applied != "" {
			t.Errorf("%s is applied without a stand-in", deployment.GetName())
		}
	}
}

// simulatedClusters returns a small number for a test; FLEET_TEST_SIMULATED sets another for
// measurements.
func simulatedClusters() int {
	if number, err := strconv.Atoi(os.Getenv("FLEET_TEST_SIMULATED")); err == nil {
		return number
	}
	return 20
}

func untilReady(t *testing.T, bundles dynamic.ResourceInterface, name string, clusters int) {
	t.Helper()
	until(t, "Bundle "+name+" is ready", func(ctx context.Context) error {
		found, err := bundles.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		shown, _, err := unstructured.NestedString(found.Object, "status", "display", "readyClusters")
		if want := fmt.Sprintf("%d/%d", clusters, clusters); err == nil && shown != want {
			err = fmt.Errorf("it is ready on %s, want %s", shown, want)
		}
		return err
	})
}

func checkProcesses(t *testing.T, fleet *Fleet) {
	t.Helper()
	processes, err := processesOf(t.Context(), fleet.env.local.dir)
	if err != nil {
		t.Fatal(err)
	}
	// A reaper, etcd and three control planes, three controllers and two agents.
	if got, want := len(processes), 1+1+3*(len(programs())-1)+3+2; got != want {
		t.Errorf("processes that a sweep would find: got %d, want %d", got, want)
	}
	for _, process := range processes {
		if group, err := groupOf(process.Pid); err != nil || group != fleet.env.local.reaper.group {
			t.Errorf("process %d is in group %d (%v), want %d, which the reaper kills", process.Pid, group, err, fleet.env.local.reaper.group)
		}
	}
	logs, err := fleet.keepLogs(filepath.Join("of", t.Name()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(t, logs) })
	found, err := filepath.Glob(filepath.Join(logs, "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range found {
		found[i] = filepath.Base(path)
	}
	slices.Sort(found)
	want := []string{"agent-dev.log", "agent-prod.log", "agentmanagement.log", "cleanup.log", "controller.log"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("logs that are kept (-want +got):\n%s", diff)
	}
}

// checkLost reports the agent of a cluster as seen now, as Fleet may, and waits until that is
// undone.
func checkLost(t *testing.T, fleet *Fleet, cluster string) {
	t.Helper()
	management, err := fleet.newFleetClient(FleetManagement)
	if err != nil {
		t.Fatal(err)
	}
	if err := management.setLastSeen(t.Context(), cluster, time.Now()); !apierrors.IsInvalid(err) {
		t.Errorf("setting when a lost agent was seen: got error %v, want Invalid", err)
	}
	seen, err := management.lastSeen(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	if time.Since(seen) < time.Hour {
		t.Errorf("a lost agent was seen at %s, want an hour ago", seen)
	}
}

func bundleClient(t *testing.T, fleet *Fleet) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(fleet.Management().RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(fleetResource("bundles")).Namespace(FleetNamespace)
}

func fleetResource(name string) schema.GroupVersionResource {
	return fleetClusters().GroupVersion().WithResource(name)
}

// createBundle delivers a ConfigMap of the same name to the clusters with a label env.
func createBundle(t *testing.T, bundles dynamic.ResourceInterface, name, env string) {
	t.Helper()
	content := strings.Join([]string{
		"apiVersion: v1", "kind: ConfigMap", "metadata: {name: " + name + "}", "data: {zone: \"{{ .Values.zone }}\"}",
	}, "\n")
	bundle := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": fleetClusters().GroupVersion().String(),
		"kind":       "Bundle",
		"spec": map[string]any{
			"defaultNamespace": "default",
			"helm": map[string]any{
				"releaseName": name,
				"chart":       "./chart",
				"values":      map[string]any{"zone": "zone-${ .ClusterValues.zone }"},
			},
			"resources": []any{
				map[string]any{"name": "chart/Chart.yaml", "content": "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n"},
				map[string]any{"name": "chart/templates/all.yaml", "content": content},
			},
			"targets": []any{map[string]any{"clusterSelector": map[string]any{"matchLabels": map[string]any{"env": env}}}},
		},
	}}
	bundle.SetName(name)
	if _, err := bundles.Create(t.Context(), bundle, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func removeBundle(t *testing.T, bundles dynamic.ResourceInterface, name string) {
	t.Helper()
	if err := bundles.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func getDelivered(t *testing.T, fleet *Fleet, cluster, name string) (zone string, err error) {
	t.Helper()
	client, err := kubernetes.NewForConfig(fleet.Cluster(cluster).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return found.Data["zone"], nil
}

func untilDeployed(t *testing.T, fleet *Fleet, cluster, name, zone string) {
	t.Helper()
	until(t, "the object of Bundle "+name+" is on cluster "+cluster, func(context.Context) error {
		got, err := getDelivered(t, fleet, cluster, name)
		if err == nil && got != zone {
			err = fmt.Errorf("its value is %q, want %q", got, zone)
		}
		return err
	})
}

func untilRemoved(t *testing.T, fleet *Fleet, cluster, name string) {
	t.Helper()
	until(t, "the object of Bundle "+name+" is removed from cluster "+cluster, func(context.Context) error {
		switch _, err := getDelivered(t, fleet, cluster, name); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		default:
			return errors.New("it is still there")
		}
	})
}

func bundleDeploymentExists(ctx context.Context, fleet *Fleet, bundle string) error {
	found, err := bundleDeployments(ctx, fleet, bundle)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("BundleDeployments of %s: got %d, want 1", bundle, len(found))
	}
	return err
}

func bundleDeployments(ctx context.Context, fleet *Fleet, bundle string) ([]unstructured.Unstructured, error) {
	client, err := dynamic.NewForConfig(fleet.Management().RESTConfig())
	if err != nil {
		return nil, err
	}
	found, err := client.Resource(fleetDeployments()).List(ctx, metav1.ListOptions{LabelSelector: "fleet.cattle.io/bundle-name=" + bundle})
	if err != nil {
		return nil, err
	}
	return found.Items, nil
}

func until(t *testing.T, what string, condition func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := condition(ctx)
		if ctx.Err() == nil {
			last = err // Keep the error from before the time was over.
		}
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v; last seen: %v", what, err, last)
	}
}
