package acceptance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// defineWidget adds the kind Widget of the test to cluster i, and waits until charts can use it.
func (s *fixture) defineWidget(t *testing.T, i int) {
	t.Helper()
	var definition unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(s.widgets()), &definition.Object); err != nil {
		t.Fatal(err)
	}
	if _, err := s.dynamic(t, i).Resource(crdResource()).Create(t.Context(), &definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.removeDefinition(t, i) })
	s.waitForWidgets(t, i, true)
}

// removeDefinition removes the definition after the test.
func (s *fixture) removeDefinition(t *testing.T, i int) {
	t.Helper()
	ctx, cancel := cleanupContext(t)
	defer cancel()
	err := s.dynamic(t, i).Resource(crdResource()).Delete(ctx, "widgets."+s.namespace+".example.com", metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("removing the definition: %v", err)
	}
}

// undefineWidget removes the kind again.
func (s *fixture) undefineWidget(t *testing.T, i int) {
	t.Helper()
	if err := s.dynamic(t, i).Resource(crdResource()).Delete(t.Context(), "widgets."+s.namespace+".example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.waitForWidgets(t, i, false)
}

func (s *fixture) waitForWidgets(t *testing.T, i int, served bool) {
	t.Helper()
	client := s.client(t, i).Discovery()
	eventually(t, "discovery tells of the kind, or does not any more", func(context.Context) (bool, error) {
		_, resources, err := client.ServerGroupsAndResources()
		for _, list := range resources {
			if list.GroupVersion == s.namespace+".example.com/v1" {
				return served, nil
			}
		}
		return !served && err == nil, nil // Other tests add and remove kinds.
	})
}

// able is a chart that reads the capabilities of its cluster.
func (s *fixture) able(value string) string {
	return fmt.Sprintf(`
resource "fleet_bundle" "able" {
  name      = "able"
  default_namespace = %[1]q
  files = {
    "Chart.yaml"            = yamlencode({ apiVersion = "v2", name = "able", version = "1.0.0" })
    "templates/cm.yaml"     = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: able\ndata:\n  key: {{ .Values.value | quote }}\n  version: {{ .Capabilities.KubeVersion.Version }}\n"
    "templates/widget.yaml" = "{{ if .Capabilities.APIVersions.Has \"%[1]s.example.com/v1/Widget\" }}\napiVersion: %[1]s.example.com/v1\nkind: Widget\nmetadata:\n  name: able\n{{ end }}\n"
  }
  helm = { values = yamlencode({ value = %[2]q }) }
}
`, s.namespace, value)
}

// plannedObjects plans into the file tfplan. It returns the known objects by deployment, and the
// deployments whose objects are unknown.
func (w *workspace) plannedObjects(t *testing.T, args ...string) (known map[string]map[string]string, unknown []string) {
	t.Helper()
	w.run(t, append([]string{"plan", "-out=tfplan", "-input=false"}, args...)...)
	var plan struct {
		ResourceChanges []struct {
			Type   string `json:"type"`
			Change struct {
				After        targetShown     `json:"after"`
				AfterUnknown json.RawMessage `json:"after_unknown"`
			} `json:"change"`
		} `json:"resource_changes"`
	}
	shown := w.run(t, "show", "-json", "tfplan")
	if err := json.NewDecoder(strings.NewReader(shown)).Decode(&plan); err != nil {
		t.Fatalf("reading the plan: %v\n%s", err, shown)
	}
	for _, resource := range plan.ResourceChanges {
		if resource.Type != "fleet_cluster_target" {
			continue
		}
		unknown = slices.Collect(maps.Keys(unknownElements(t, resource.Change.AfterUnknown, "objects", resource.Change.After.Deployments)))
		return resource.Change.After.objectsByDeployment(), unknown
	}
	t.Fatalf("no target in the plan:\n%s", shown)
	return nil, nil
}

// applyPlanned applies the saved plan. The state must then contain the planned objects.
func (w *workspace) applyPlanned(t *testing.T, planned map[string]map[string]string) {
	t.Helper()
	w.run(t, "apply", "-input=false", "tfplan")
	if diff := cmp.Diff(planned, w.objects(t)); diff != "" {
		t.Errorf("what was applied is not what was planned (-planned +applied):\n%s", diff)
	}
}

func (w *workspace) objects(t *testing.T) map[string]map[string]string {
	t.Helper()
	shown, found := w.shown(t), map[string]map[string]string{}
	for key := range shown.Deployments {
		found[key] = shown.objectsHashes(key, shown.record(t, key))
	}
	return found
}

// expectSteadyState applies without changes. The target in the state must stay the same. The serial
// proves less: the CLI stores the paths of sensitive attributes in any order, and raises it for
// another order.
func (w *workspace) expectSteadyState(t *testing.T) {
	t.Helper()
	before := w.stored(t)
	w.apply(t)
	if diff := cmp.Diff(before, w.stored(t)); diff != "" {
		t.Errorf("an apply of nothing changed the state (-before +after):\n%s", diff)
	}
}

// expectWidget checks whether the widget of the chart is on cluster i.
func (s *fixture) expectWidget(t *testing.T, i int, want bool) {
	t.Helper()
	_, err := s.dynamic(t, i).Resource(s.widgetResource()).Namespace(s.namespace).Get(t.Context(), "able", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if (err == nil) != want {
		t.Errorf("cluster %d has the widget: %t, want %t", i, err == nil, want)
	}
}

// A chart that reads capabilities is planned with those that the last refresh found on its cluster,
// and installed with the same. A target stores the kinds of its clusters, and tests on the shared
// clusters add and remove kinds.
func TestAccCapabilities(t *testing.T) {
	t.Parallel()
	env := testenv.New(t, 3)
	s, w := newFixture(t, env), newWorkspace(t)
	widget := "Widget." + s.namespace + ".example.com/" + s.namespace + "/able"
	s.defineWidget(t, 1)
	configure := func(value, third string) {
		w.configure(t, s.provider("", on, on, third), s.able(value), target("", "fleet_bundle.able.bundles"))
	}
	const off = `on = "no"`
	has := func(t *testing.T, planned map[string]map[string]string, deployments string) {
		t.Helper()
		for _, key := range []string{"a/able", "b/able", "c/able"} {
			if _, got := planned[key][widget]; got != strings.Contains(deployments, key) {
				t.Errorf("the plan shows the widget of %s: %t", key, got)
			}
		}
	}

	configure("1", off)
	plan := unwrapped(w.run(t, "plan"))
	wants := []string{
		"objects are known only after the apply", "a/able, b/able: its templates ask whether the cluster serves " + s.namespace + ".example.com/v1/Widget",
		`"a/able" = (known after apply)`, `"b/able" = (known after apply)`,
	}
	if w.keepsPrivateData(t) {
		wants = []string{`"b/able ` + widget + `" = `}
	}
	for _, want := range wants {
		if !strings.Contains(plan, want) {
			t.Errorf("the first plan does not say %q:\n%s", want, plan)
		}
	}
	w.apply(t)
	s.expectWidget(t, 1, true)
	has(t, w.objects(t), "b/able")
	w.expectEmptyPlan(t)

	configure("2", off)
	planned, unknown := w.plannedObjects(t)
	if len(unknown) > 0 {
		t.Errorf("the second plan does not know the objects of %q", unknown)
	}
	has(t, planned, "b/able")
	w.applyPlanned(t, planned)
	w.expectEmptyPlan(t)

	if !env.External() { // Tests beside this one change the kinds of existing clusters.
		w.expectSteadyState(t)
	}

	// A cluster that gains an API after the plan gets what was planned, and the rest
	// with the next change.
	configure("3", off)
	planned, _ = w.plannedObjects(t)
	s.defineWidget(t, 0)
	w.applyPlanned(t, planned)
	has(t, planned, "b/able")
	w.expectEmptyPlan(t)

	// New labels on releases are no reason to deploy, even if capabilities have changed.
	w.configure(t, s.provider("", on, on, off), s.able("3"), strings.Replace(target("", "fleet_bundle.able.bundles"), `name = "all"`, `name = "renamed"`, 1))
	planned, unknown = w.plannedObjects(t)
	if len(unknown) > 0 {
		t.Errorf("the objects of a renamed target are not known: %q", unknown)
	}
	has(t, planned, "b/able")
	revision := s.releases(t, 0)["able"].revision
	w.applyPlanned(t, planned)
	if after := s.releases(t, 0)["able"].revision; after != revision {
		t.Errorf("a target was renamed, and revision %s became %s", revision, after)
	}

	// A cluster that has lost it is an error of the apply.
	configure("4", off)
	planned, _ = w.plannedObjects(t)
	has(t, planned, "a/able b/able")
	s.undefineWidget(t, 0)
	w.fail(t, []string{"apply", "-input=false", "tfplan"}, "a/able", "since the plan, the cluster no longer serves ", s.namespace+".example.com/v1")
	planned, _ = w.plannedObjects(t)
	has(t, planned, "b/able")
	w.applyPlanned(t, planned)
	w.expectEmptyPlan(t)

	// The capabilities of a cluster that joins by a label were read before.
	s.defineWidget(t, 2)
	configure("4", on)
	planned, unknown = w.plannedObjects(t)
	if len(unknown) > 0 {
		t.Errorf("the objects of a cluster that joins are not known: %q", unknown)
	}
	has(t, planned, "b/able c/able")
	w.applyPlanned(t, planned)

	// Without a refresh, the stored capabilities are used.
	configure("5", on)
	planned, unknown = w.plannedObjects(t, "-refresh=false")
	if len(unknown) > 0 {
		t.Errorf("the plan without a refresh does not know the objects of %q", unknown)
	}
	w.applyPlanned(t, planned)
	w.run(t, "destroy", "-auto-approve")
	for i := range 3 {
		s.expectNothing(t, i)
	}
}

// The first plan of a target reads the capabilities of its clusters. From Terraform 1.16 on its apply has
// the same ones, and stops if the cluster has lost an API. Before, the plan leaves a deployment open if
// the names of its objects depend on an API version that can be added or removed before the apply. So
// its apply is not stopped.
func TestAccFirstPlanReadsCapabilities(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	s.defineWidget(t, 0)
	configure := func(value string) {
		w.configure(t, s.provider("", on), s.able(value), target("", "fleet_bundle.able.bundles"))
	}
	configure("1")
	open := []string{"a/able"}
	if w.keepsPrivateData(t) {
		open = nil
	}
	if _, unknown := w.plannedObjects(t); !slices.Equal(unknown, open) {
		t.Fatalf("the first plan leaves %q open", unknown)
	}
	s.undefineWidget(t, 0)
	if w.keepsPrivateData(t) {
		w.fail(t, []string{"apply", "-input=false", "tfplan"}, "a/able", "since the plan, the cluster no longer serves ", s.namespace+".example.com/v1")
		w.apply(t) // A new plan works.
	} else {
		w.run(t, "apply", "-input=false", "tfplan")
	}
	if got := len(w.objects(t)["a/able"]); got != 1 {
		t.Errorf("%d objects were deployed", got)
	}

	s.defineWidget(t, 0)
	configure("2")
	planned, unknown := w.plannedObjects(t)
	if len(unknown) > 0 {
		t.Fatalf("the plan does not know the objects of %q", unknown)
	}
	w.applyPlanned(t, planned)
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// One apply creates a target that defines a kind, and then one whose chart reads it.
func TestAccCapabilitiesBroughtByAnotherTarget(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	t.Cleanup(func() { s.removeDefinition(t, 0) }) // The bundle leaves it there.
	first := strings.ReplaceAll(target("", "fleet_bundle.crds.bundles"), `"all"`, `"kinds"`)
	w.configure(t, s.provider("", on), s.bundleOf("crds", s.widgets()), first, s.able("1"), target("depends_on = [fleet_cluster_target.kinds]", "fleet_bundle.able.bundles"))
	w.apply(t)
	s.expectWidget(t, 0, true)
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// Charts read the capabilities in the configuration, before the cluster can be reached and after.
func TestAccFixedCapabilities(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	provider := func(host, capabilities string) string {
		return fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = {\n    a = { config_path = %s, config_context = %q, labels = { on = \"yes\" }\n%s }\n  }\n}\n",
			s.namespace, host, s.env.Contexts()[0], capabilities)
	}
	later := fmt.Sprintf("resource \"terraform_data\" \"later\" {\n  input = %q\n}\n", s.env.Kubeconfig())
	const path = "terraform_data.later.output"
	for capabilities, want := range map[string]string{
		`kube_version = "newest"`:           `Reading the Kubernetes version "newest"`,
		`api_versions = ["example.com/v1"]`: "kube_version of cluster a is missing",
	} {
		w.configure(t, later, provider(path, capabilities), s.able("1"), target("", "fleet_bundle.able.bundles"))
		w.fail(t, []string{"plan"}, want)
	}

	s.defineWidget(t, 0)
	w.configure(t, later, provider(path, `kube_version = "1.2.3"`), s.able("1"), target("", "fleet_bundle.able.bundles"))
	planned, unknown := w.plannedObjects(t)
	if len(unknown) > 0 || len(planned["a/able"]) != 1 {
		t.Fatalf("the plan knows %v and not the objects of %q", planned, unknown)
	}
	w.applyPlanned(t, planned)
	s.expectWidget(t, 0, false)
	read, err := s.client(t, 0).CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "able", metav1.GetOptions{})
	if err != nil || read.Data["version"] != "v1.2.3" {
		t.Errorf("the chart read version %q: %v", read.Data["version"], err)
	}
	w.expectEmptyPlan(t)

	w.configure(t, later, provider(path, fmt.Sprintf(`kube_version = "1.2.3"
      api_versions = ["%s.example.com/v1/Widget"]`, s.namespace)), s.able("2"), target("", "fleet_bundle.able.bundles"))
	w.apply(t)
	s.expectWidget(t, 0, true)
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// A bundle that uses a kind is deployed after the bundle that defines it. It then gets the new
// capabilities, regardless of the stored ones.
func TestAccCapabilitiesBroughtByADependency(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]string{"with waiting": "", "without waiting": "wait = false"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
			dependent := strings.Replace(s.able("1"), "files =", "depends_on_bundles = [{ name = \"crds\" }]\n  files =", 1)
			other := strings.ReplaceAll(s.able("1"), "\"able\"", "\"other\"")
			other = strings.ReplaceAll(other, "name: able", "name: other")
			w.configure(t, s.provider("", on), other, target(waits, "fleet_bundle.other.bundles"))
			w.apply(t) // This stores the capabilities of the clusters.
			w.configure(t, s.provider("", on), other, s.bundleOf("crds", s.widgets()), dependent,
				target(waits, "fleet_bundle.other.bundles", "fleet_bundle.crds.bundles", "fleet_bundle.able.bundles"))
			t.Cleanup(func() { s.removeDefinition(t, 0) }) // The bundle leaves it there.
			plan := unwrapped(w.run(t, "plan"))
			if want := "example.com/v1/Widget, and bundle crds, which it depends on, can change the capabilities of the cluster"; !strings.Contains(plan, "a/able: ") || !strings.Contains(plan, want) {
				t.Errorf("the plan does not say %q:\n%s", want, plan)
			}
			w.apply(t)
			s.expectWidget(t, 0, true)
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			s.expectNothing(t, 0)
		})
	}
}

// asked records the requests to the API servers of a site.
type asked struct {
	mu    sync.Mutex
	paths []string
}

func (a *asked) note(cluster string) faulttest.Rule {
	return func(request *http.Request) faulttest.Fault {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.paths = append(a.paths, cluster+" "+request.URL.Path)
		return faulttest.Fault{}
	}
}

// take returns how often each of some paths was requested since the last call.
func (a *asked) take(paths ...string) map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := map[string]int{}
	for _, path := range a.paths {
		if slices.Contains(paths, path) {
			counts[path]++
		}
	}
	a.paths = nil
	return counts
}

// Capabilities of clusters are read only if a chart can depend on them, once for each run. Of
// clusters outside of the target only the capabilities are read.
func TestAccCapabilitiesCostLittle(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	s, w := newFixture(t, env), newWorkspace(t)
	var seen asked
	var entries []entry
	for i, name := range []string{"a", "b"} {
		if env.Cluster(i).Token() == "" {
			t.Skip("the cluster of this context is not reached by a token")
		}
		proxy := faulttest.New(t, env.Cluster(i))
		proxy.Set(seen.note(name))
		entries = append(entries, entry{name: name, host: proxy.Host(), token: env.Cluster(i).Token(), authority: proxy.CACertificate()})
	}
	onlyA := strings.Replace(target("", "fleet_bundle.able.bundles"), "cluster_selector = { match_labels = { on = \"yes\" } }", "cluster_name = \"a\"", 1)
	paths := []string{"a /version", "b /version", "a /apis", "b /apis", "b /api/v1/namespaces/kube-system"}

	w.configure(t, s.clusters(entries), s.bundle("able", "1"), onlyA)
	w.apply(t)
	seen.take()
	w.expectEmptyPlan(t)
	plain := seen.take(paths...)
	if plain["a /version"]+plain["b /version"]+plain["b /apis"] > 0 {
		t.Errorf("clusters are asked although nothing depends on the answer: %v", plain)
	}

	w.configure(t, s.clusters(entries), s.able("1"), onlyA)
	w.apply(t)
	seen.take()
	w.expectEmptyPlan(t)
	want := map[string]int{"a /version": 1, "b /version": 1, "a /apis": plain["a /apis"], "b /apis": 1}
	if want["a /apis"] == 0 {
		want["a /apis"] = 1
	}
	if diff := cmp.Diff(want, seen.take(paths...)); diff != "" {
		t.Errorf("requests of a plan (-want +got):\n%s", diff)
	}
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
