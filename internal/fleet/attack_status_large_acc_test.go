//go:build !race

package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// statusAttack is a management cluster with the definitions of a real Fleet. The test writes what
// Fleet's controller and the agents would write.
type statusAttack struct {
	*testing.T
	fleet *testenv.Fleet
}

func newStatusAttack(t *testing.T) statusAttack {
	t.Helper()
	fleet := testenv.NewFleet(t)
	if err := fleet.StopController(t.Context()); err != nil {
		t.Fatal(err)
	}
	return statusAttack{T: t, fleet: fleet}
}

// write creates an object of Fleet with a status.
func (a statusAttack) write(resource, kind string, about metav1.ObjectMeta, spec, status map[string]any) {
	a.Helper()
	objects := fleetObjects(a.T, a.fleet, resource, about.Namespace)
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": kind, "spec": spec}}
	object.SetName(about.Name)
	object.SetLabels(about.Labels)
	object.SetAnnotations(about.Annotations)
	if _, err := objects.Create(a.Context(), object, metav1.CreateOptions{}); err != nil {
		a.Fatal(err)
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		a.Fatal(err)
	}
	// Fleet's controllers write the object as well, so that an update can conflict.
	if _, err := objects.Patch(a.Context(), about.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		a.Fatal(err)
	}
}

func (a statusAttack) addCluster(name, lastSeen string) {
	a.Helper()
	client, err := kubernetes.NewForConfig(a.fleet.Management().RESTConfig())
	if err != nil {
		a.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "of-" + name}}
	if _, err := client.CoreV1().Namespaces().Create(a.Context(), namespace, metav1.CreateOptions{}); err != nil {
		a.Fatal(err)
	}
	about := metav1.ObjectMeta{Name: name, Namespace: testenv.FleetNamespace}
	a.write("clusters", "Cluster", about, map[string]any{}, map[string]any{"namespace": namespace.Name, "agent": map[string]any{"lastSeen": lastSeen}})
}

func (a statusAttack) addDeployment(cluster, name string, labels map[string]string, status map[string]any) {
	a.Helper()
	about := metav1.ObjectMeta{Name: name, Namespace: "of-" + cluster, Labels: map[string]string{
		labelBundleName: name, labelBundleNamespace: testenv.FleetNamespace, labelCluster: cluster, labelClusterNamespace: testenv.FleetNamespace,
	}}
	maps.Copy(about.Labels, labels)
	spec := map[string]any{"deploymentID": "1", "stagedDeploymentID": "1"}
	a.write("bundledeployments", "BundleDeployment", about, spec, status)
}

// An agent writes the status of its Cluster and of its BundleDeployments. What cannot be read of them
// costs only its own cluster.
func TestAccAttackStatus(t *testing.T) {
	t.Parallel()
	a := newStatusAttack(t)
	seen := metav1.Now().UTC().Format("2006-01-02T15:04:05Z")
	a.addCluster("good", seen)
	a.addCluster("large", seen)
	a.addCluster("never", "2026-01-02t03:04:05z") // RFC 3339 allows small letters, and Go does not.

	d := newDelivery(realEngine(t, a.fleet, Settings{}), "status", "instance-status")
	name, digest := d.bundleName("web"), "v1-0123456789abcdef0123456789abcdef"
	labels := labelsOf(nil, release.NewMark("owner", "status", "instance-status", "web", ""), digest)
	entries := map[string]entry{}
	for _, cluster := range []string{"good", "large", "never"} {
		entries[cluster] = entry{digest: digest}
		d.records[deploy.Key{Cluster: cluster, Bundle: "web"}] = deploy.Record{
			Release: "web", Namespace: "web", Digest: digest, State: status.NotReady, Known: release.Known{Instance: "instance-status", Engine: true},
		}
	}
	a.write("bundles", "Bundle", metav1.ObjectMeta{Name: name, Namespace: testenv.FleetNamespace, Labels: labels, Annotations: map[string]string{
		annotationDeployments: deploymentsText(entries), annotationGeneration: "1",
	}}, map[string]any{}, map[string]any{"observedGeneration": int64(1)})

	ready := map[string]any{"appliedDeploymentID": "1", "ready": true, "nonModified": true}
	a.addDeployment("good", name, labels, ready)
	a.addDeployment("never", name, labels, ready)
	long := maps.Clone(ready)
	long["conditions"] = []any{map[string]any{"type": "Ready", "status": "False", "message": strings.Repeat("x", 1_400_000)}}
	a.addDeployment("large", name, labels, long)
	for i := range 49 {
		a.addDeployment("large", fmt.Sprintf("other-%d", i), labels, long)
	}

	inventory, err := d.engine.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	unseen := map[string]bool{}
	for _, cluster := range inventory.Clusters {
		unseen[cluster.Facts.Name] = cluster.LastSeen.IsZero()
	}
	if diff := cmp.Diff(map[string]bool{"good": false, "large": false, "never": true}, unseen); diff != "" {
		t.Errorf("clusters that were never seen (-want +got):\n%s", diff)
	}

	prior := d.records
	found := d.refresh(t)
	var failed []string
	for _, failure := range found.Failures {
		failed = append(failed, failure.Cluster)
		key := deploy.Key{Cluster: failure.Cluster, Bundle: failure.Bundle}
		if diff := cmp.Diff(prior[key], found.Records[key]); diff != "" {
			t.Errorf("record of %s (-want +got):\n%s", failure.Cluster, diff)
		}
	}
	slices.Sort(failed)
	if diff := cmp.Diff([]string{"large"}, failed); diff != "" || len(found.Missing) > 0 {
		t.Errorf("lost %v, failures %v, clusters that cannot be read (-want +got):\n%s", found.Missing, found.Failures, diff)
	}
	for _, cluster := range []string{"good", "never"} {
		if record := found.Records[deploy.Key{Cluster: cluster, Bundle: "web"}]; record.State != status.Ready {
			t.Errorf("%s is %s: %s", cluster, record.State, record.Message)
		}
	}
}
