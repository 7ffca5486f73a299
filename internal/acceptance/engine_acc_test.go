package acceptance_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// Values that a reader of Bundles must not see.
const (
	engineSensitive = "sensitive-value-of-the-configuration"
	engineWriteOnly = "write-only-value-of-the-configuration"
)

// engineConfig has a chart, plain manifests and a kustomization on the clusters of a Fleet.
func engineConfig(namespace, size, rule string) string {
	return fmt.Sprintf(`
resource "fleet_bundle" "chart" {
  name              = "chart"
  default_namespace = %[1]q
  files = {
    "web/Chart.yaml"         = "apiVersion: v2\nname: web\nversion: 1.2.3\n"
    "web/templates/all.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {zone: {{ .Values.zone }}, size: {{ .Values.size | quote }}, sensitive: {{ .Values.sensitive }}, once: {{ .Values.once }}}\n"
  }
  helm = { chart = "./web", release_name = "web", values = jsonencode({ zone = "$${ .ClusterValues.zone }", size = %[2]q, sensitive = sensitive(%[4]q) }) }
}

resource "fleet_bundle" "plain" {
  name              = "plain"
  default_namespace = %[1]q
  files             = { "all.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n" }
}

resource "fleet_bundle" "overlay" {
  name              = "overlay"
  default_namespace = %[1]q
  kustomize         = { dir = "base" }
  files = {
    "base/kustomization.yaml" = "namePrefix: kust-\nresources: [all.yaml]\n"
    "base/all.yaml"           = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: omized}\n"
  }
  depends_on_bundles = [{ name = "plain" }]
}

resource "fleet_cluster_target" "prod" {
  name    = "prod"
  bundles = [fleet_bundle.chart.bundles, fleet_bundle.plain.bundles, fleet_bundle.overlay.bundles]
  targets = [%[3]s]

  values_wo         = { chart = { once = %[5]q } }
  values_wo_version = { chart = "1" }
}

output "deployments" { value = fleet_cluster_target.prod.deployments }
output "not_ready" { value = fleet_cluster_target.prod.not_ready }
output "clusters" { value = fleet_cluster_target.prod.clusters }
`, namespace, size, rule, engineSensitive, engineWriteOnly)
}

// What a real Fleet delivers. The parts run one after the other: nothing else may be delivered while the
// clusters of the Fleet are read, nor to c3 while its agent is lost.
//
//nolint:tparallel // See above.
func TestAccEngine(t *testing.T) {
	t.Parallel()
	fleet := testenv.SharedFleet(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *testenv.Fleet)
	}{
		{"clusters", expectFleetClusters},
		{"delivers", expectDelivery},
		{"selects", expectSelection},
		{"sources and policies", expectSourcesAndPolicies},
		{"moves", expectMoves},
		{"killed create", expectKilledCreate},
		{"estate", expectEstateUnderPlans},
		{"from Fleet and back", expectFromFleetAndBack},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, fleet) })
	}
}

// expectDelivery creates a target, plans again, deletes a Bundle by hand, loses an agent, removes a
// cluster, and destroys.
func expectDelivery(t *testing.T, fleet *testenv.Fleet) {
	t.Helper()
	s := engineStory{fleet: fleet, w: newWorkspace(t), namespace: "acc-engine"}

	s.configure(t, "", "1", everyCluster)
	plan := unwrapped(s.w.run(t, "plan", "-input=false", "-out=tfplan"))
	for _, part := range []string{`"c1/chart"`, "web-1.2.3 acc-engine/web", "ConfigMap/acc-engine/kust-omized", "+9 ~0 -0 =0"} {
		if !strings.Contains(plan, part) {
			t.Errorf("the plan does not show %q:\n%s", part, plan)
		}
	}
	s.w.run(t, "apply", "-input=false", "tfplan")
	s.w.expectEmptyPlan(t)
	s.wantClusters(t, "3/3 deployments, 3/3 objects", "c1", "c2", "c3")
	s.wantMaps(t, "c1", "c2", "c3")
	s.wantSecretsOutsideOfBundles(t)

	s.deleteBundle(t, "plain")
	s.configure(t, "", "2", everyCluster)
	want := []string{"+ c1/plain", "+ c2/plain", "+ c3/plain", "~ c1/chart", "~ c2/chart", "~ c3/chart"}
	if diff := cmp.Diff(want, s.w.plannedChanges(t)); diff != "" {
		t.Errorf("a Bundle was deleted by hand, and the chart has another value (-want +got):\n%s", diff)
	}
	s.w.run(t, "apply", "-input=false", "tfplan")
	s.w.expectEmptyPlan(t)
	s.wantMaps(t, "c1", "c2", "c3")

	s.offline(t)

	s.configure(t, "", "4", `{ cluster_selector = { match_labels = { env = "prod" } } }`)
	s.w.apply(t)
	s.w.expectEmptyPlan(t)
	s.wantMaps(t, "c2", "c3")

	s.w.run(t, "destroy", "-auto-approve", "-input=false")
	s.wantMaps(t)
}

const everyCluster = "{ all = true }"

// engineStory is a target that a real Fleet delivers.
type engineStory struct {
	fleet     *testenv.Fleet
	w         *workspace
	namespace string
}

func (s engineStory) configure(t *testing.T, settings, size, rule string) {
	t.Helper()
	s.w.configure(t, engineProvider(s.fleet, settings), engineConfig(s.namespace, size, rule))
}

// offline loses the agent of c3, and applies with both values of on_offline. Then the agent is back.
func (s engineStory) offline(t *testing.T) {
	t.Helper()
	if err := s.fleet.LoseAgent(t.Context(), "c3"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.fleet.StartAgent(context.WithoutCancel(t.Context()), "c3"); err != nil {
			t.Error(err)
		}
	})
	s.configure(t, "on_offline = \"leave\"", "3", everyCluster)
	s.w.run(t, "plan", "-out=tfplan", "-input=false")
	for _, attribute := range []string{"not_ready", "clusters"} {
		if !s.isUnknown(t, attribute) {
			t.Errorf("with on_offline = leave, %s is known while planning", attribute)
		}
	}
	if text := unwrapped(s.w.run(t, "apply", "-input=false", "tfplan")); !strings.Contains(text, "deployments wait for agents") || !strings.Contains(text, "c3/chart: the agent was last seen at") {
		t.Errorf("the apply does not report that c3 waits for its agent:\n%s", text)
	}
	s.w.expectEmptyPlan(t)
	s.wantNotReady(t, map[string]string{"c3/chart": "WaitApplied"})

	s.configure(t, "on_offline = \"error\"", "3", everyCluster)
	if diff := cmp.Diff([]string{"~ c3/chart"}, s.w.plannedChanges(t)); diff != "" {
		t.Errorf("with on_offline = error (-want +got):\n%s", diff)
	}
	s.w.fail(t, []string{"apply", "-input=false", "tfplan"}, "deploying c3/chart failed", "the agent of the cluster was last seen at", "on_offline")

	if err := s.fleet.StartAgent(t.Context(), "c3"); err != nil {
		t.Fatal(err)
	}
	s.until(t, "c3 to have the last value", func(ctx context.Context) (bool, error) {
		found, err := s.configMaps(t, "c3").Get(ctx, "web", metav1.GetOptions{})
		return err == nil && found.Data["size"] == "3", err
	})
	s.until(t, "Fleet to report it", func(ctx context.Context) (bool, error) {
		found, err := s.objects(t, "clusters").Get(ctx, "c3", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		state, _, err := unstructured.NestedString(found.Object, "status", "display", "state")
		return state == "", err
	})
	s.w.run(t, "apply", "-refresh-only", "-auto-approve", "-input=false")
	s.wantNotReady(t, map[string]string{})
	s.w.expectEmptyPlan(t)
}

// isUnknown reports whether an attribute of the target is unknown in the saved plan, or its element for c3.
func (s engineStory) isUnknown(t *testing.T, attribute string) bool {
	t.Helper()
	var plan struct {
		ResourceChanges []struct {
			Type   string
			Change struct {
				AfterUnknown map[string]any `json:"after_unknown"`
			}
		} `json:"resource_changes"`
	}
	if err := json.NewDecoder(strings.NewReader(s.w.run(t, "show", "-json", "tfplan"))).Decode(&plan); err != nil {
		t.Fatal(err)
	}
	for _, resource := range plan.ResourceChanges {
		if resource.Type == "fleet_cluster_target" {
			elements, _ := resource.Change.AfterUnknown[attribute].(map[string]any)
			return resource.Change.AfterUnknown[attribute] == true || elements["c3"] == true
		}
	}
	t.Fatal("the plan does not have the target")
	return false
}

// objects returns the objects of a kind of Fleet in the namespace of the engine.
func (s engineStory) objects(t *testing.T, resource string) dynamic.ResourceInterface {
	t.Helper()
	return s.allObjects(t, resource).Namespace(testenv.FleetNamespace)
}

func (s engineStory) allObjects(t *testing.T, resource string) dynamic.NamespaceableResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(s.fleet.Management().RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: "fleet.cattle.io", Version: "v1alpha1", Resource: resource})
}

// selectGroup changes the clusters of a group to those with this value of the label env.
func (s engineStory) selectGroup(t *testing.T, group, env string) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec": {"selector": {"matchLabels": {"env": %q}}}}`, env)
	if _, err := s.objects(t, "clustergroups").Patch(t.Context(), group, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// deleteBundle deletes the Bundle of a bundle, and waits until Fleet has released it.
func (s engineStory) deleteBundle(t *testing.T, bundle string) {
	t.Helper()
	ours := metav1.ListOptions{LabelSelector: "agentless-fleet.github.io/owner=acc,agentless-fleet.github.io/target=prod,agentless-fleet.github.io/bundle=" + bundle}
	if err := s.objects(t, "bundles").DeleteCollection(t.Context(), metav1.DeleteOptions{}, ours); err != nil {
		t.Fatal(err)
	}
	s.until(t, "the Bundle to be gone", func(ctx context.Context) (bool, error) {
		found, err := s.objects(t, "bundles").List(ctx, ours)
		return err == nil && len(found.Items) == 0, err
	})
}

// wantSecretsOutsideOfBundles checks that secret values are on the clusters and in no object that a
// reader of Bundles can read.
func (s engineStory) wantSecretsOutsideOfBundles(t *testing.T) {
	t.Helper()
	found, err := s.configMaps(t, "c2").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{engineSensitive, engineWriteOnly}, []string{found.Data["sensitive"], found.Data["once"]}); diff != "" {
		t.Errorf("values on c2 (-want +got):\n%s", diff)
	}
	for _, resource := range []string{"bundles", "bundledeployments", "contents"} {
		all, err := s.allObjects(t, resource).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{engineSensitive, engineWriteOnly} {
			if strings.Contains(string(text), secret) || strings.Contains(string(text), base64.StdEncoding.EncodeToString([]byte(secret))) {
				t.Errorf("the %s of Fleet contain the value %s", resource, secret)
			}
		}
		if len(all.Items) == 0 {
			t.Errorf("there are no %s", resource)
		}
	}
}

func (s engineStory) wantClusters(t *testing.T, text string, names ...string) {
	t.Helper()
	var got map[string]string
	decode(t, []byte(s.w.run(t, "output", "-json", "clusters")), &got)
	want := map[string]string{}
	for _, name := range names {
		want[name] = text
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
}

// wantNotReady compares the deployments that are not ready, by their states.
func (s engineStory) wantNotReady(t *testing.T, want map[string]string) {
	t.Helper()
	var got map[string]string
	decode(t, []byte(s.w.run(t, "output", "-json", "not_ready")), &got)
	for key, text := range got {
		got[key], _, _ = strings.Cut(text, ":")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("not_ready (-want +got):\n%s", diff)
	}
}

// wantMaps checks which clusters have the objects of the target.
func (s engineStory) wantMaps(t *testing.T, clusters ...string) {
	t.Helper()
	want, got := map[string][]string{}, map[string][]string{}
	for _, cluster := range []string{"c1", "c2", "c3"} {
		if slices.Contains(clusters, cluster) {
			want[cluster] = []string{"kust-omized", "plain", "web"}
		}
		found, err := s.configMaps(t, cluster).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range found.Items {
			if object.Name != "kube-root-ca.crt" {
				got[cluster] = append(got[cluster], object.Name)
			}
		}
		slices.Sort(got[cluster])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ConfigMaps in namespace %s (-want +got):\n%s", s.namespace, diff)
	}
}

func (s engineStory) configMaps(t *testing.T, cluster string) corev1.ConfigMapInterface {
	t.Helper()
	client, err := kubernetes.NewForConfig(s.fleet.Cluster(cluster).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client.CoreV1().ConfigMaps(s.namespace)
}

func (s engineStory) until(t *testing.T, what string, is func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, time.Minute, true, is); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// A bundle that a management cluster does not store is an error of the plan.
func TestAccEngineTooLarge(t *testing.T) {
	t.Parallel()
	fleet, w := testenv.SharedFleet(t), newWorkspace(t)
	noise := make([]byte, 2_000_000)
	_, _ = rand.Read(noise) // It does not fail.
	w.write(t, "large/noise.txt", base64.StdEncoding.EncodeToString(noise))
	w.write(t, "large/all.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\n")
	w.configure(t, engineProvider(fleet, ""), `
resource "fleet_bundle" "large" {
  name      = "large"
  directory = "large"
}

resource "fleet_cluster_target" "large" {
  name    = "large"
  bundles = [fleet_bundle.large.bundles]
  targets = [{ cluster_name = "c1" }]
}
`)
	text := unwrapped(w.fail(t, []string{"plan", "-input=false"}, "and a Bundle of Fleet can have at most 1900000", "split the bundle"))
	if !regexp.MustCompile(`take 2[0-9]{6} bytes`).MatchString(text) {
		t.Errorf("the plan does not report the size of the bundle:\n%s", text)
	}
}

// expectSelection selects clusters by a group of Fleet, and then by facts of the configuration alone.
func expectSelection(t *testing.T, fleet *testenv.Fleet) {
	t.Helper()
	w := newWorkspace(t)
	s := engineStory{fleet: fleet, w: w, namespace: "acc-engine-selects"}
	createFleetGroup(t, fleet, "acc-selects", map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"env": "prod"}}})
	config := func(rule string) string {
		return fmt.Sprintf(`
resource "fleet_bundle" "web" {
  name              = "selects"
  default_namespace = %q
  files = {
    "Chart.yaml"         = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
    "templates/all.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {zone: {{ .Values.zone }}}\n"
  }
  helm = { values = jsonencode({ zone = "$${ .ClusterValues.zone }" }) }
}

resource "fleet_cluster_target" "prod" {
  name    = "prod"
  bundles = [fleet_bundle.web.bundles]
  targets = [%s]
}
`, s.namespace, rule)
	}
	zone := func(cluster string) string {
		found, err := s.configMaps(t, cluster).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return found.Data["zone"]
	}

	w.configure(t, engineProvider(fleet, ""), config(`{ cluster_group = "acc-selects" }`))
	w.run(t, "plan", "-input=false", "-out=tfplan")
	s.selectGroup(t, "acc-selects", "dev") // Only the saved plan has the former clusters.
	if w.keepsPrivateData(t) {
		w.run(t, "apply", "-input=false", "tfplan")
	} else {
		w.fail(t, []string{"apply", "-input=false", "tfplan"}, "inconsistent final plan")
	}
	s.selectGroup(t, "acc-selects", "prod")
	w.apply(t)
	w.expectEmptyPlan(t)
	if diff := cmp.Diff([]string{"zone-of-c2", "zone-of-c3"}, []string{zone("c2"), zone("c3")}); diff != "" {
		t.Errorf("template values of Fleet (-want +got):\n%s", diff)
	}

	pinned := strings.Replace(engineProvider(fleet, ""), `  owner  = "acc"`, `  owner  = "acc"
  clusters = { c2 = { labels = { env = "prod" }, template_values = jsonencode({ zone = "pinned" }) } }`, 1)
	w.configure(t, pinned, config(everyCluster))
	if diff := cmp.Diff([]string{"- c3/selects", "~ c2/selects"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("with clusters of the configuration (-want +got):\n%s", diff)
	}
	w.apply(t)
	w.expectEmptyPlan(t)
	if got := zone("c2"); got != "pinned" {
		t.Errorf("template value: got %q, want that of the configuration", got)
	}
	w.run(t, "destroy", "-auto-approve", "-input=false")
	s.wantMaps(t)
}
