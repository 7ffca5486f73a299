package fleet

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

func fleetObjects(t *testing.T, fleet *testenv.Fleet, resource, namespace string) dynamic.ResourceInterface {
	t.Helper()
	made, err := dynamic.NewForConfig(fleet.Management().RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return made.Resource(schema.GroupVersionResource{Group: "fleet.cattle.io", Version: "v1alpha1", Resource: resource}).Namespace(namespace)
}

// bundleName returns the name of the only Bundle of a target.
func (d *delivery) bundleName(bundle string) string {
	return nameOf(d.identity.Owner, d.identity.Instance, bundle)
}

// namespaceOf returns the namespace of the BundleDeployments of a cluster.
func namespaceOf(t *testing.T, fleet *testenv.Fleet, cluster string) string {
	t.Helper()
	object, err := fleetObjects(t, fleet, "clusters", testenv.FleetNamespace).Get(t.Context(), cluster, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	namespace, _, err := unstructured.NestedString(object.Object, "status", "namespace")
	if err != nil {
		t.Fatal(err)
	}
	return namespace
}

// An object of another owner stops the deployment on its cluster, and no other.
func TestAccOneFailure(t *testing.T) {
	t.Parallel()
	fleet := testenv.SharedFleet(t)
	const namespace = "one-failure"
	core := client0(t, fleet, "c2").CoreV1()
	if _, err := core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "plain"}, Data: map[string]string{"value": "foreign"}}
	if _, err := core.ConfigMaps(namespace).Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	d := newDelivery(realEngine(t, fleet, Settings{}), "failing", "instance-failing")
	wanted := deploymentsFor(t, []*bundle.Bundle{newBundle(t, "plain", "defaultNamespace: "+namespace+"\n", map[string]string{"a.yaml": configMap("plain", "x")})}, inventory(t, fleet))
	failures := d.apply(t, wanted).Failures
	if len(failures) != 1 || failures[0].Cluster != "c2" || !strings.Contains(failures[0].Err.Error(), "exists and cannot be imported") {
		t.Fatalf("failures: got %v, want one on c2 that says that an object exists", failures)
	}
	want := map[string]status.State{"c1/plain": status.Ready, "c2/plain": status.ErrApplied, "c3/plain": status.Ready}
	got := map[string]status.State{}
	for key, record := range d.records {
		got[key.String()] = record.State
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	noFailures(t, d.refresh(t).Failures)
	if got, want := d.change(wanted).Counts().String(), "+0 ~1 -0 =2"; got != want {
		t.Errorf("the next plan: got %s, want %s (%v)", got, want, d.states())
	}
	if got := valueOf(t, fleet, "c2", namespace, "plain", "value"); got != "foreign" {
		t.Errorf("the object of somebody else has %q", got)
	}
	noFailures(t, d.apply(t, nil).Failures)
	noBundles(t, d)
	if got := valueOf(t, fleet, "c2", namespace, "plain", "value"); got != "foreign" {
		t.Errorf("the object of somebody else has %q after the removal", got)
	}
}

// Write-only values are in a Secret that Fleet reads, and not in the Bundle.
func TestAccSecretValues(t *testing.T) {
	t.Parallel()
	fleet := testenv.SharedFleet(t)
	const namespace, password = "secret-values", "hunter2-hunter2"
	d := newDelivery(realEngine(t, fleet, Settings{}), "secret", "instance-secret")
	withValues := func(clusters []target.Cluster, value, version string) []target.Deployment {
		wanted := deploymentsFor(t, story(t, namespace, "1")[:1], clusters)
		for i, d := range wanted {
			wanted[i] = d.WithWriteOnly(&target.WriteOnly{Content: secret.Hide(target.Content{Values: map[string]any{"size": value}}), ValuesVersion: version})
		}
		return wanted
	}
	clusters := inventory(t, fleet)
	wanted := withValues(clusters[:2], password, "1")
	noFailures(t, d.apply(t, wanted).Failures)
	if got := valueOf(t, fleet, "c1", namespace, "web-web", "size"); got != password {
		t.Errorf("c1 got the value %q, want the write-only one", got)
	}
	for _, resource := range []string{"bundles", "bundledeployments"} {
		all, err := fleetObjects(t, fleet, resource, "").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), password) || strings.Contains(string(text), base64.StdEncoding.EncodeToString([]byte(password))) {
			t.Errorf("a write-only value can be read in the %s", resource)
		}
	}
	noFailures(t, d.refresh(t).Failures)
	if change := d.change(wanted); change.Counts().Any() {
		t.Errorf("a second plan has %s: %v", change.Counts(), d.states())
	}

	// A cluster that joins gets the present value. The other clusters keep theirs: no plan has
	// shown the change of the value.
	wanted = withValues(clusters, "other", "1")
	if got, want := d.change(wanted).Counts().String(), "+1 ~0 -0 =2"; got != want {
		t.Errorf("a cluster that joins: got %s, want %s", got, want)
	}
	noFailures(t, d.apply(t, wanted).Failures)
	got := []string{valueOf(t, fleet, "c1", namespace, "web-web", "size"), valueOf(t, fleet, "c3", namespace, "web-web", "size")}
	if diff := cmp.Diff([]string{password, "other"}, got); diff != "" {
		t.Errorf("values on c1 and c3 (-want +got):\n%s", diff)
	}
	noFailures(t, d.apply(t, nil).Failures)
	core, err := kubernetes.NewForConfig(fleet.Management().RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if found, err := core.CoreV1().Secrets(testenv.FleetNamespace).Get(t.Context(), d.bundleName("chart"), metav1.GetOptions{}); err == nil && found.DeletionTimestamp == nil {
		err := wait.PollUntilContextTimeout(t.Context(), time.Second, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := core.CoreV1().Secrets(testenv.FleetNamespace).Get(ctx, d.bundleName("chart"), metav1.GetOptions{})
			return err != nil, nil
		})
		if err != nil {
			t.Errorf("the values Secret is still there after its Bundle was deleted: %v", err)
		}
	}
}

// A Bundle that another client changes or deletes is written again. Each step begins with the
// result of the last one.
//
//nolint:tparallel // See above.
func TestAccChangedByHand(t *testing.T) {
	t.Parallel()
	fleet := testenv.SharedFleet(t)
	const namespace = "by-hand"
	d := newDelivery(realEngine(t, fleet, Settings{}), "by-hand", "instance-by-hand")
	clusters := inventory(t, fleet)[:2]
	wanted := deploymentsFor(t, story(t, namespace, "1")[:1], clusters)
	noFailures(t, d.apply(t, wanted).Failures)
	bundles := fleetObjects(t, fleet, "bundles", testenv.FleetNamespace)

	t.Run("edited", func(t *testing.T) {
		edit := []byte(`{"spec": {"helm": {"values": {"size": "99"}}}}`)
		if _, err := bundles.Patch(t.Context(), d.bundleName("chart"), types.MergePatchType, edit, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		noFailures(t, d.refresh(t).Failures)
		if got := d.records[deploy.Key{Cluster: "c1", Bundle: "chart"}]; got.State != status.OutOfSync {
			t.Errorf("state after an edit: %v", d.states())
		}
		noFailures(t, d.apply(t, wanted).Failures)
		if got := valueOf(t, fleet, "c1", namespace, "web-web", "size"); got != "1" {
			t.Errorf("size is %q, want 1", got)
		}
	})
	t.Run("paused", func(t *testing.T) {
		if _, err := bundles.Patch(t.Context(), d.bundleName("chart"), types.MergePatchType, []byte(`{"spec": {"paused": true}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		isPaused := func(ctx context.Context) (bool, error) {
			bd, err := fleetObjects(t, fleet, "bundledeployments", namespaceOf(t, fleet, "c1")).Get(ctx, d.bundleName("chart"), metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			paused, _, err := unstructured.NestedBool(bd.Object, "spec", "paused")
			return paused, err
		}
		if err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, time.Minute, true, isPaused); err != nil {
			t.Fatal(err)
		}
		noFailures(t, d.apply(t, wanted).Failures)
		if got := d.records[deploy.Key{Cluster: "c1", Bundle: "chart"}]; got.State != status.Ready {
			t.Errorf("state after the apply: %v", d.states())
		}
	})
	t.Run("deleted", func(t *testing.T) {
		if err := bundles.Delete(t.Context(), d.bundleName("chart"), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := bundles.Get(ctx, d.bundleName("chart"), metav1.GetOptions{})
			return err != nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		seen := d.refresh(t)
		if len(seen.Missing) != 2 || len(seen.Records) != 0 {
			t.Errorf("after the Bundle was deleted: lost %v, records %v", seen.Missing, d.states())
		}
		noFailures(t, d.apply(t, wanted).Failures)
		if got := valueOf(t, fleet, "c1", namespace, "web-web", "size"); got != "1" {
			t.Errorf("size is %q, want 1", got)
		}
	})
	t.Run("a BundleDeployment deleted", func(t *testing.T) {
		cluster := namespaceOf(t, fleet, "c1")
		for try := range 3 {
			if err := fleetObjects(t, fleet, "bundledeployments", cluster).Delete(t.Context(), d.bundleName("chart"), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			key := deploy.Key{Cluster: "c1", Bundle: "chart"}
			broken := d.records[key]
			broken.State = status.WaitApplied // As a refresh reads it while Fleet still works.
			d.records[key] = broken
			noFailures(t, d.apply(t, wanted).Failures)
			if broken = d.records[key]; broken.State != status.Ready {
				t.Errorf("try %d: %v", try, d.states())
			}
			if got := valueOf(t, fleet, "c1", namespace, "web-web", "zone"); got != "zone-of-c1" {
				t.Errorf("try %d: zone is %q, want zone-of-c1", try, got)
			}
		}
	})
	noFailures(t, d.apply(t, nil).Failures)
	noBundles(t, d)
}

// A Bundle that is not of this target but has the name of its Bundle is not changed.
func TestAccForeignBundle(t *testing.T) {
	t.Parallel()
	fleet := testenv.SharedFleet(t)
	d := newDelivery(realEngine(t, fleet, Settings{}), "foreign", "instance-foreign")
	bundles := fleetObjects(t, fleet, "bundles", testenv.FleetNamespace)
	foreign := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Bundle",
		"metadata": map[string]any{"name": d.bundleName("chart"), "labels": map[string]any{"whose": "another"}},
		"spec":     map[string]any{},
	}}
	if _, err := bundles.Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	wanted := deploymentsFor(t, story(t, "foreign", "1")[:1], inventory(t, fleet)[:1])
	failures := d.apply(t, wanted).Failures
	if len(failures) != 1 {
		t.Fatalf("failures: got %v, want one", failures)
	}
	if _, is := errors.AsType[*ForeignError](failures[0].Err); !is {
		t.Errorf("failure: got %v, want a ForeignError", failures[0].Err)
	}
	left, err := bundles.Get(t.Context(), d.bundleName("chart"), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if left.GetGeneration() != 1 || left.GetLabels()["whose"] != "another" {
		t.Errorf("the Bundle of somebody else was changed: %v", left.Object)
	}
	if err := bundles.Delete(t.Context(), left.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Names at the limits of Kubernetes and Helm are the same as with direct delivery.
func TestAccLongNames(t *testing.T) {
	t.Parallel()
	fleet := testenv.SharedFleet(t)
	const namespace = "long-names"
	d := newDelivery(realEngine(t, fleet, Settings{}), "long", "instance-long")
	var bundles []*bundle.Bundle
	for _, length := range []int{53, 54, 63, 64} {
		name := strings.Repeat("n", length-2) + "-" + string(rune('a'+length%20))
		bundles = append(bundles, newBundle(t, name, "defaultNamespace: "+namespace+"\n", map[string]string{"a.yaml": configMap("of-"+name[length-1:], "x")}))
	}
	wanted := deploymentsFor(t, bundles, inventory(t, fleet)[:1])
	noFailures(t, d.apply(t, wanted).Failures)
	records, err := client0(t, fleet, "c1").CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string]bool{}, map[string]bool{}
	for _, record := range records.Items {
		got[record.Labels["name"]] = true
	}
	for _, d := range wanted {
		want[d.Release] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("releases (-want +got):\n%s", diff)
	}
	noFailures(t, d.apply(t, nil).Failures)
}
