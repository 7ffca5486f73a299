package acceptance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// edit changes an object on cluster i as a user does by hand.
func (s *fixture) edit(t *testing.T, i int, resource schema.GroupVersionResource, name, change string) {
	t.Helper()
	client, err := dynamic.NewForConfig(s.env.Cluster(i).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(resource).Namespace(s.namespace).Patch(t.Context(), name, types.MergePatchType, []byte(change), metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
}

// delete deletes an object on cluster i.
func (s *fixture) delete(t *testing.T, i int, resource schema.GroupVersionResource, name string) {
	t.Helper()
	client, err := dynamic.NewForConfig(s.env.Cluster(i).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Resource(resource).Namespace(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// webField reads a text, or a number as text, of the object web on cluster i.
func (s *fixture) webField(t *testing.T, i int, resource schema.GroupVersionResource, path ...string) string {
	t.Helper()
	client, err := dynamic.NewForConfig(s.env.Cluster(i).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.Resource(resource).Namespace(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := unstructured.NestedFieldNoCopy(found.Object, path...)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(value)
}

//nolint:gochecknoglobals // constants of a type that has none
var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secretKind  = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// defineWidgets defines a kind of custom resources on clusters 0 to n-1. The definition prunes
// unknown fields.
func (s *fixture) defineWidgets(t *testing.T, n int) schema.GroupVersionResource {
	t.Helper()
	group := s.namespace + ".example.com"
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"kind": "Widget", "plural": "widgets"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
					"spec": map[string]any{"type": "object", "properties": map[string]any{
						"size": map[string]any{"type": "integer"}, "color": map[string]any{"type": "string"},
					}},
				}}},
			}},
		},
	}}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	for i := range n {
		client, err := dynamic.NewForConfig(s.env.Cluster(i).RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Resource(definitions).Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := client.Resource(definitions).Delete(context.WithoutCancel(t.Context()), definition.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Errorf("removing the definition: %v", err)
			}
		})
		eventually(t, "widgets are served", func(ctx context.Context) (bool, error) {
			_, err := client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil, err
		})
	}
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}
}

// expectSays wants all of parts in the output.
func expectSays(t *testing.T, output string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(unwrapped(output), part) {
			t.Errorf("the plan does not say %q:\n%s", part, output)
		}
	}
}

func (w *workspace) expectCounts(t *testing.T, want counts, byCluster map[string]counts) {
	t.Helper()
	var all counts
	clusters := map[string]counts{}
	for cluster, summary := range w.shown(t).Clusters {
		of := countsOf(t, summary)
		clusters[cluster] = of
		all = counts{
			all.Desired + of.Desired, all.Ready + of.Ready, all.NotReady + of.NotReady, all.Modified + of.Modified,
			all.Missing + of.Missing, all.NotOwned + of.NotOwned, all.Unknown + of.Unknown,
		}
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("objects of all clusters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(byCluster, clusters); diff != "" {
		t.Errorf("objects by cluster (-want +got):\n%s", diff)
	}
}

// Objects that a user changed or deleted show in the plan, once for many clusters, and one apply
// corrects them: built-in kinds, custom resources and deleted objects. Fields of other owners stay.
func TestAccDriftIsCorrected(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	widgets := s.defineWidgets(t, 2)
	manifest := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n" +
		"  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: c, image: registry.k8s.io/pause:3.10, readinessProbe: {exec: {command: [/pause, -v]}}, resources: {requests: {cpu: 10m}}}]}\n" +
		"---\n" + configMap("web", "x") + "---\n" + configMap("extra", "x") +
		"---\napiVersion: v1\nkind: Secret\nmetadata: {name: web}\nstringData: {password: hidden-word}\n" +
		"---\napiVersion: " + widgets.Group + "/v1\nkind: Widget\nmetadata: {name: web}\nspec: {size: 3, color: red, pruned: by the server}\n"
	w.configure(t, s.provider("", on, on), s.bundleOf("web", manifest), s.bundle("other", "x"), target("", "fleet_bundle.web.bundles", "fleet_bundle.other.bundles"))
	w.apply(t)
	w.expectEmptyPlan(t)
	good, each := counts{Desired: 12, Ready: 12}, counts{Desired: 6, Ready: 6}
	w.expectCounts(t, good, map[string]counts{"a": each, "b": each})

	for i := range 2 {
		s.edit(t, i, deployments, "web", `{"metadata":{"labels":{"of":"another"}},"spec":{"template":{"metadata":{"annotations":{"of":"another"}},"spec":{"containers":[{"name":"c","image":"registry.k8s.io/pause:3.9","resources":{"requests":{"cpu":"10m"}}}]}}}}`)
		s.edit(t, i, configMaps, "web", `{"metadata":{"labels":{"of":"another"}},"data":{"key":"edited","more":"another's"}}`)
		s.edit(t, i, secretKind, "web", `{"stringData":{"password":"guessed-word"}}`)
		s.edit(t, i, widgets, "web", `{"spec":{"size":4}}`)
		s.delete(t, i, configMaps, "extra")
	}
	if diff := cmp.Diff([]string{"~ a/web", "~ b/web"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	output := w.run(t, "plan", "-input=false")
	name := func(kind, name string) string { return kind + " " + s.namespace + "/" + name }
	expectSays(t, output,
		"live objects differ from what was deployed", "a/web, b/web:", name("ConfigMap", "extra")+" is missing",
		name("Deployment", "web")+" differs at spec.template.spec.containers[c].image", name("ConfigMap", "web")+" differs at data.key",
		name("Secret", "web")+" differs at data.password", name("Widget", "web")+" differs at spec.size", "An apply corrects these objects")
	if strings.Contains(output, "guessed-word") || strings.Contains(output, "hidden-word") {
		t.Errorf("a secret value can be read:\n%s", output)
	}
	if got := strings.Count(output, "Warning: Target all: live objects differ"); got != 1 {
		t.Errorf("%d warnings for one cause on two clusters:\n%s", got, output)
	}

	w.apply(t)
	for i := range 2 {
		for what, got := range map[string][2]string{
			"the config map":                   {s.value(t, i, "web"), "x"},
			"the deleted config map":           {s.value(t, i, "extra"), "x"},
			"the custom resource":              {s.webField(t, i, widgets, "spec", "size"), "3"},
			"the secret":                       {s.webField(t, i, secretKind, "data", "password"), "aGlkZGVuLXdvcmQ="},
			"another's label":                  {s.webField(t, i, configMaps, "metadata", "labels", "of"), "another"},
			"another's key":                    {s.webField(t, i, configMaps, "data", "more"), "another's"},
			"another's label of the web":       {s.webField(t, i, deployments, "metadata", "labels", "of"), "another"},
			"another's annotation of its pods": {s.webField(t, i, deployments, "spec", "template", "metadata", "annotations", "of"), "another"},
		} {
			if got[0] != got[1] {
				t.Errorf("cluster %d: %s is %q, want %q", i, what, got[0], got[1])
			}
		}
		if got := s.webField(t, i, deployments, "spec", "template", "spec", "containers"); !strings.Contains(got, "pause:3.10") {
			t.Errorf("cluster %d: the containers are %s", i, got)
		}
		if got := s.releases(t, i); got["web"].revision != "2" || got["other"].revision != "1" {
			t.Errorf("cluster %d: revisions %+v, want one more of web alone", i, got)
		}
	}
	w.expectEmptyPlan(t)
	w.expectCounts(t, good, map[string]counts{"a": each, "b": each})
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// With correctDrift.enabled = false, every plan reports drift and no apply corrects it.
func TestAccDriftIsOnlyReported(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	bundle := func(options string) string {
		return strings.Replace(s.bundle("one", "x"), "files =", options+"\n  files =", 1)
	}
	configure := func(options string) {
		t.Helper()
		w.configure(t, s.provider("", on), bundle(options), target("", "fleet_bundle.one.bundles"))
	}
	configure("correct_drift = { enabled = false }")
	w.apply(t)
	s.edit(t, 0, configMaps, "one", `{"data":{"key":"edited"}}`)

	expectSays(t, w.expectEmptyPlan(t), "differs at data.key", "An apply does not correct these objects", "correctDrift.enabled")
	w.run(t, "apply", "-refresh-only", "-auto-approve", "-input=false")
	if got := w.states(t)["a/one"]; got != "Modified" {
		t.Errorf("it is %s, want Modified", got)
	}
	w.expectCounts(t, counts{Desired: 1, Modified: 1}, map[string]counts{"a": {Desired: 1, Modified: 1}})
	w.apply(t)
	w.expectEmptyPlan(t)
	if got := s.value(t, 0, "one"); got != "edited" || s.releases(t, 0)["one"].revision != "1" {
		t.Errorf("the value is %q, in release %+v", got, s.releases(t, 0)["one"])
	}

	// A changed comparison deploys nothing, and is no drift.
	configure("diff = { compare_patches = [{ api_version = \"v1\", kind = \"ConfigMap\", json_pointers = [\"/data/key\"] }] }")
	w.apply(t)
	if output := w.expectEmptyPlan(t); strings.Contains(output, "differs") {
		t.Errorf("what is not compared differs:\n%s", output)
	}
	if got := s.value(t, 0, "one"); got != "edited" || s.releases(t, 0)["one"].revision != "1" {
		t.Errorf("the value is %q, in release %+v", got, s.releases(t, 0)["one"])
	}
	// Without the setting, drift is corrected.
	configure("")
	w.apply(t)
	w.apply(t)
	if got := s.value(t, 0, "one"); got != "x" {
		t.Errorf("the value is %q, want that it is put right", got)
	}
	w.expectEmptyPlan(t)

	configure("diff = { compare_patches = [{ kind = \"ConfigMap\", json_pointers = [\"data\"] }] }")
	w.fail(t, []string{"plan", "-input=false"}, "Compare patch 1 of diff", `"data" does not begin with a slash`, "No deployment of this target was started")
}

// With drift = "release" only release records are compared, without the right to read objects. If
// one kind may not be read, only that kind is not compared.
func TestAccDriftNeedsRightsOnlyForWhatItReads(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	manifest := configMap("one", "x") + "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: one}\nautomountServiceAccountToken: false\n"
	configure := func(provider, extra string) {
		t.Helper()
		w.configure(t, provider, s.bundleOf("one", manifest), target(extra, "fleet_bundle.one.bundles"))
	}
	configure(s.provider("", on), "")
	w.apply(t)
	s.edit(t, 0, configMaps, "one", `{"data":{"key":"edited"}}`)

	as := func(resources ...string) string {
		t.Helper()
		name := strings.Join(append([]string{s.namespace}, resources...), "-")
		user, err := s.env.Cluster(0).User(t.Context(), name, []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: append(resources, "secrets", "namespaces"), Verbs: []string{"get", "list"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.env.Cluster(0).RemoveUser(context.WithoutCancel(t.Context()), name); err != nil {
				t.Error(err)
			}
		})
		return fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = { a = { labels = { %s }, kubeconfig = <<-K\n%s  K\n  } }\n}\n", s.namespace, on, indent(user.Kubeconfig))
	}
	configure(as("serviceaccounts"), "")
	output := w.expectEmptyPlan(t)
	expectSays(t, output, "not all live objects can be read", "ConfigMap: on a", `drift = "release"`)
	if got := strings.Count(output, "Warning: Target"); got != 1 {
		t.Errorf("%d warnings:\n%s", got, output)
	}
	configure(as("configmaps"), "")
	if diff := cmp.Diff([]string{"~ a/one"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}

	for _, drift := range []string{"release", "none"} {
		configure(s.provider("", on), fmt.Sprintf("drift = %q", drift))
		w.run(t, "apply", "-auto-approve", "-input=false", "-refresh=false")
		configure(as(), fmt.Sprintf("drift = %q", drift))
		if output := w.expectEmptyPlan(t); strings.Contains(output, "Warning: Target") {
			t.Errorf("drift = %s needs more than release records:\n%s", drift, output)
		}
	}
	if got := s.value(t, 0, "one"); got != "edited" {
		t.Errorf("the value is %q, want that nobody looked at it", got)
	}
	configure(s.provider("", on), "")
	w.apply(t)
	w.apply(t)
	if got := s.value(t, 0, "one"); got != "x" {
		t.Errorf("the value is %q, want that it is put right", got)
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// The plan names an object that has lost its owner, and the apply gives it the owner again. Without
// one, the object stays when its bundle no longer has it, and the apply names it.
func TestAccDriftOfTheOwner(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	configure := func(manifest string) {
		w.configure(t, s.provider("", on), s.bundleOf("app", manifest), target("", "fleet_bundle.app.bundles"))
	}
	lose := func() {
		s.edit(t, 0, configMaps, "two", `{"metadata":{"annotations":{"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":null}}}`)
	}
	configure(configMap("one", "x") + "---\n" + configMap("two", "x"))
	w.apply(t)
	lose()
	expectSays(t, w.run(t, applying...), "ConfigMap "+s.namespace+"/two differs at metadata.annotations")
	if _, owner := s.configMapOwner(t, "two"); owner != "app" {
		t.Errorf("the object belongs to %q", owner)
	}
	w.expectEmptyPlan(t)

	lose()
	configure(configMap("one", "x"))
	expectSays(t, w.run(t, applying...), "objects are not deleted", "ConfigMap/"+s.namespace+"/two")
	if !s.isThere(t, "two") {
		t.Error("the object was deleted")
	}
	w.expectEmptyPlan(t)
}
