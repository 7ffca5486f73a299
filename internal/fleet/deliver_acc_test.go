package fleet

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// realEngine returns an engine with the Fleet of a test.
func realEngine(t *testing.T, fleet *testenv.Fleet, settings Settings) *Engine {
	t.Helper()
	settings.Namespace, settings.Parallelism = testenv.FleetNamespace, 4
	masker := &mask.Masker{}
	return New(settings, func() (Connection, error) {
		return kube.New(connect.Connection{ConfigPaths: []string{fleet.Kubeconfig()}, ConfigContext: testenv.FleetManagement}, masker)
	}, realCharts(), masker)
}

// inventory returns the clusters of a Fleet.
func inventory(t *testing.T, fleet *testenv.Fleet) []target.Cluster {
	t.Helper()
	read, err := realEngine(t, fleet, Settings{}).Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return read.Facts()
}

const chartYAML = "apiVersion: v2\nname: web\nversion: 1.2.3\n"

func chartTemplate() string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-web}\ndata: {zone: {{ .Values.zone | quote }}, size: {{ .Values.size | quote }}}\n"
}

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {value: \"" + value + "\"}\n"
}

// story returns a chart, plain manifests and a kustomization. size changes the chart everywhere.
func story(t *testing.T, namespace, size string) []*bundle.Bundle {
	t.Helper()
	return []*bundle.Bundle{
		newBundle(t, "chart", "defaultNamespace: "+namespace+"\nhelm: {chart: ./web, releaseName: web, values: {zone: '${ .ClusterValues.zone }', size: "+size+"}}\n", map[string]string{
			"web/Chart.yaml": chartYAML, "web/values.yaml": "zone: none\n", "web/templates/all.yaml": chartTemplate(),
		}),
		newBundle(t, "plain", "defaultNamespace: "+namespace+"\n", map[string]string{"a.yaml": configMap("plain", "x")}),
		newBundle(t, "overlay", "defaultNamespace: "+namespace+"\nkustomize: {dir: base}\n", map[string]string{
			"base/kustomization.yaml": "namePrefix: kust-\nresources: [c.yaml]\n", "base/c.yaml": configMap("omized", "y"),
		}),
	}
}

func client0(t *testing.T, fleet *testenv.Fleet, cluster string) kubernetes.Interface {
	t.Helper()
	made, err := kubernetes.NewForConfig(fleet.Cluster(cluster).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// valueOf returns a value of a ConfigMap on a cluster, "" if there is none.
func valueOf(t *testing.T, fleet *testenv.Fleet, cluster, namespace, name, key string) string {
	t.Helper()
	found, err := client0(t, fleet, cluster).CoreV1().ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return found.Data[key]
}

// TestAccDeliver carries out the main story on a real Fleet: create, nothing to do, change, a
// cluster leaves, destroy.
func TestAccDeliver(t *testing.T) {
	t.Parallel()
	fleet := testenv.SharedFleet(t)
	clusters, namespace := inventory(t, fleet), "deliver"
	d := newDelivery(realEngine(t, fleet, Settings{}), "prod", "instance-deliver")
	wanted := deploymentsFor(t, story(t, namespace, "1"), clusters)

	noFailures(t, d.apply(t, wanted).Failures)
	for _, cluster := range []string{"c1", "c2", "c3"} {
		got := []string{
			valueOf(t, fleet, cluster, namespace, "web-web", "zone"), valueOf(t, fleet, cluster, namespace, "plain", "value"),
			valueOf(t, fleet, cluster, namespace, "kust-omized", "value"),
		}
		if diff := cmp.Diff([]string{"zone-of-" + cluster, "x", "y"}, got); diff != "" {
			t.Errorf("on %s (-want +got):\n%s", cluster, diff)
		}
	}
	applied := d.records
	noFailures(t, d.refresh(t).Failures)
	if diff := cmp.Diff(applied, d.records); diff != "" {
		t.Errorf("records after a refresh (-applied +refreshed):\n%s", diff)
	}
	if change := d.change(wanted); change.Counts().Any() {
		t.Errorf("a second plan has %s: %v", change.Counts(), d.states())
	}

	wanted = deploymentsFor(t, story(t, namespace, "2"), clusters)
	if got, want := d.change(wanted).Counts().String(), "+0 ~3 -0 =6"; got != want {
		t.Errorf("another value of the chart: got %s, want %s", got, want)
	}
	noFailures(t, d.apply(t, wanted).Failures)
	if got := valueOf(t, fleet, "c2", namespace, "web-web", "size"); got != "2" {
		t.Errorf("size on c2 is %q, want 2", got)
	}

	wanted = deploymentsFor(t, story(t, namespace, "2"), clusters[:2])
	noFailures(t, d.apply(t, wanted).Failures)
	for _, name := range []string{"web-web", "plain", "kust-omized"} {
		if got := valueOf(t, fleet, "c3", namespace, name, "value"); got != "" {
			t.Errorf("ConfigMap %s is on c3 after the apply that removed it", name)
		}
	}
	if got := valueOf(t, fleet, "c1", namespace, "plain", "value"); got != "x" {
		t.Errorf("ConfigMap plain on c1 has %q, want x", got)
	}
	noFailures(t, d.refresh(t).Failures)
	if change := d.change(wanted); change.Counts().Any() {
		t.Errorf("a plan after the removal has %s: %v", change.Counts(), d.states())
	}

	noFailures(t, d.apply(t, nil).Failures)
	if got := valueOf(t, fleet, "c1", namespace, "plain", "value"); got != "" || len(d.records) > 0 {
		t.Errorf("after the end ConfigMap plain has %q on c1, and the state %v", got, d.states())
	}
	noBundles(t, d)
	for _, cluster := range []string{"c1", "c2", "c3"} {
		untilNoReleases(t, fleet, cluster, namespace)
	}
}

// noBundles checks that the target has no Bundle.
func noBundles(t *testing.T, d *delivery) {
	t.Helper()
	c, err := d.engine.management()
	if err != nil {
		t.Fatal(err)
	}
	seen, err := d.engine.look(t.Context(), c, d.identity.Owner, instancesOf(d.identity, nil))
	if err != nil {
		t.Fatal(err)
	}
	if len(seen.bundles)+len(seen.deployments) > 0 {
		t.Errorf("there are still Bundles %v and BundleDeployments %v", seen.bundles, seen.deployments)
	}
}

// untilNoReleases waits until the agent has removed the records of releases.
func untilNoReleases(t *testing.T, fleet *testenv.Fleet, cluster, namespace string) {
	t.Helper()
	left := 0
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		records, err := client0(t, fleet, cluster).CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{LabelSelector: "owner=helm"})
		if err != nil {
			return false, err
		}
		left = len(records.Items)
		return left == 0, nil
	})
	if err != nil {
		t.Errorf("%d release records remain in namespace %s of %s: %v", left, namespace, cluster, err)
	}
}
