package acceptance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// with adds options to a bundle made by site.bundle or a similar function.
func with(bundle, options string) string {
	return strings.Replace(bundle, "files =", options+"\n  files =", 1)
}

// widgets is a custom resource definition with an API group of its own.
func (s *fixture) widgets() string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets." + s.namespace + ".example.com}\nspec:\n" +
		"  group: " + s.namespace + ".example.com\n  scope: Namespaced\n  names: {kind: Widget, plural: widgets}\n" +
		"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]\n"
}

func (s *fixture) dynamic(t *testing.T, i int) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(s.env.Cluster(i).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (s *fixture) widgetResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: s.namespace + ".example.com", Version: "v1", Resource: "widgets"}
}

func crdResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// A definition, a workload, an object of the definition, and a last object are bundles of their
// own. Each bundle is ready before its dependents begin, and is removed after them.
func TestAccDependsOn(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	widget := "apiVersion: " + s.namespace + ".example.com/v1\nkind: Widget\nmetadata: {name: one, finalizers: [example.com/hold]}\n"
	names := []string{"last", "widget", "crds", "controller"}
	bundles := make([]string, len(names))
	for i, name := range names {
		bundles[i] = "fleet_bundle." + name + ".bundles"
	}
	w.configure(t, s.provider("", on, on),
		with(s.bundleOf("crds", s.widgets()), "labels = { part = \"base\" }\n  delete_crd_resources = true"),
		with(s.workload("controller"), "labels = { part = \"base\" }"),
		with(s.bundleOf("widget", widget), "depends_on_bundles = [{ selector = { match_labels = { part = \"base\" } } }]"),
		with(s.bundle("last", "x"), "depends_on_bundles = [{ name = \"widget\" }]"),
		target("", bundles...))
	expectSays(t, unwrapped(w.run(t, "plan", "-input=false", "-out=tfplan")), "Target all: deployments +8 ~0 -0 =0",
		"1. controller on a, b; crds on a, b 2. widget on a, b 3. last on a, b")
	w.run(t, "apply", "-input=false", "tfplan")
	for i := range 2 {
		s.expectReleases(t, i, "controller", "crds", "last", "widget")
		s.expectAfter(t, i)
	}
	w.expectEmptyPlan(t)

	// The finalizers stop the removal in the middle.
	destroyed := make(chan error, 1)
	go func() {
		output, err := w.try(t, "destroy", "-auto-approve")
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, output)
		}
		destroyed <- err
	}()
	for i := range 2 {
		eventually(t, "the custom resource is being deleted", func(ctx context.Context) (bool, error) {
			found, err := s.dynamic(t, i).Resource(s.widgetResource()).Namespace(s.namespace).Get(ctx, "one", metav1.GetOptions{})
			return err == nil && found.GetDeletionTimestamp() != nil, err
		})
		s.expectReleases(t, i, "controller", "crds", "widget")
		definition, err := s.dynamic(t, i).Resource(crdResource()).Get(t.Context(), "widgets."+s.namespace+".example.com", metav1.GetOptions{})
		if err != nil || definition.GetDeletionTimestamp() != nil {
			t.Errorf("the definition goes before what is made of it: %v", err)
		}
		_, err = s.dynamic(t, i).Resource(s.widgetResource()).Namespace(s.namespace).Patch(t.Context(), "one", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := <-destroyed; err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		s.expectNothing(t, i)
		_, err := s.dynamic(t, i).Resource(crdResource()).Get(t.Context(), "widgets."+s.namespace+".example.com", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("the definition is left: %v", err)
		}
	}
}

// expectAfter wants the custom resource to be created after the workload was ready, to the second.
func (s *fixture) expectAfter(t *testing.T, i int) {
	t.Helper()
	workload, err := s.client(t, i).AppsV1().Deployments(s.namespace).Get(t.Context(), "controller", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var made *unstructured.Unstructured
	if made, err = s.dynamic(t, i).Resource(s.widgetResource()).Namespace(s.namespace).Get(t.Context(), "one", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, condition := range workload.Status.Conditions {
		if condition.Type == "Available" && condition.Status == corev1.ConditionTrue {
			if begun := made.GetCreationTimestamp(); begun.Time.Before(condition.LastTransitionTime.Time) {
				t.Errorf("cluster %d: made at %s, before its dependency was ready at %s", i, begun, condition.LastTransitionTime)
			}
			return
		}
	}
	t.Errorf("cluster %d: the dependency is not available", i)
}

// A bundle fails on one cluster: only there, the bundles that depend on it are held. The next apply
// continues.
func TestAccDependencyFails(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	s.forbidPods(t, 1)
	w.configure(t, s.provider("", on, on), s.workload("base"), with(s.bundle("top", "x"), "depends_on_bundles = [{ name = \"base\" }]"), s.bundle("free", "x"),
		target(s.podsFit(), "fleet_bundle.base.bundles", "fleet_bundle.top.bundles", "fleet_bundle.free.bundles"))
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "held: b/top", "it depends on bundle base, which is ErrApplied")
	want := map[string]string{"a/base": "Ready", "a/top": "Ready", "a/free": "Ready", "b/base": "ErrApplied", "b/free": "Ready"}
	if diff := cmp.Diff(want, w.states(t)); diff != "" {
		t.Errorf("saved states (-want +got):\n%s", diff)
	}
	s.allowPods(t, 1)
	w.configure(t, s.provider("", on, on), s.workload("base"), with(s.bundle("top", "x"), "depends_on_bundles = [{ name = \"base\" }]"), s.bundle("free", "x"),
		target("", "fleet_bundle.base.bundles", "fleet_bundle.top.bundles", "fleet_bundle.free.bundles"))
	w.apply(t)
	s.expectReleases(t, 1, "base", "free", "top")
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
}

// The dependency is deployed without waiting, and yet its dependents are deployed after it is
// ready.
func TestAccDependencyWithoutWaiting(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	w.configure(t, s.provider("", on), s.workload("base"), with(s.bundle("top", "x"), "depends_on_bundles = [{ name = \"base\" }]"),
		target("wait = false", "fleet_bundle.base.bundles", "fleet_bundle.top.bundles"))
	w.apply(t)
	if diff := cmp.Diff(map[string]string{"a/base": "Ready", "a/top": "Ready"}, w.states(t)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

func TestAccWrongDependenciesAreFoundWhilePlanning(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	one := func(needs string) string { return with(s.bundle("one", "x"), "depends_on_bundles = ["+needs+"]") }
	two := func(needs string) string { return with(s.bundle("two", "x"), "depends_on_bundles = ["+needs+"]") }
	of := target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles")
	plan := []string{"plan", "-input=false"}
	tests := []struct {
		one, two string
		want     []string
	}{
		{one: `{ name = "two" }`, two: `{ name = "one" }`, want: []string{"Target all: cannot plan a/one, a/two", "cycle: one, which depends on two, which depends on one"}},
		{one: `{ name = "one" }`, want: []string{"Bundle one depends on itself"}},
		{one: `{ name = "two", selector = { match_labels = { app = "db" } } }`, want: []string{"no bundle two", "app=db"}},
	}
	for _, test := range tests {
		w.configure(t, s.provider("", on), one(test.one), two(test.two), of)
		w.fail(t, plan, test.want...)
	}
	s.expectNothing(t, 0)
}

// Only clusters show whether another target has deployed a bundle. So a missing bundle fails no
// plan: the plan of the apply could fail differently. The apply fails only what depends on it.
func TestAccMissingDependencyIsAWarningOfThePlan(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	w.configure(t, s.provider("", on), with(s.bundle("one", "x"), `depends_on_bundles = [{ name = "twoo" }]`), s.bundle("two", "x"),
		target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	output := w.run(t, "plan", "-input=false", "-out=saved")
	expectSays(t, output, "Warning: Target all: bundles that deployments depend on are not deployed", "a/one: it depends on bundle twoo", "did you mean two?", "another target of the same owner")
	output = w.fail(t, []string{"apply", "-input=false", "saved"}, "a/one failed", "it depends on bundle twoo", "did you mean two?")
	if strings.Contains(output, "cannot plan") || strings.Contains(output, "Nothing was changed") {
		t.Errorf("the apply fails as a plan:\n%s", output)
	}
	s.expectReleases(t, 0, "two")
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// A bundle depends on a bundle of another target, in the same apply and later.
func TestAccDependsOnAnotherTarget(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	base := strings.ReplaceAll(target("", "fleet_bundle.base.bundles"), `"all"`, `"base"`)
	top := func(value string) string {
		return with(s.bundle("top", value), "depends_on_bundles = [{ name = \"base\" }]")
	}
	of := target("depends_on = [fleet_cluster_target.base]", "fleet_bundle.top.bundles")
	w.configure(t, s.provider("", on), s.bundle("base", "x"), top("x"), base, of)
	w.apply(t)
	s.expectReleases(t, 0, "base", "top")
	w.configure(t, s.provider("", on), s.bundle("base", "x"), top("y"), base, of)
	w.apply(t)
	if got := s.value(t, 0, "top"); got != "y" {
		t.Errorf("the value is %q", got)
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// The canary fails while it is upgraded: the other clusters keep their release, the error reports
// this, and the next apply continues.
func TestAccCanaryFails(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	const strategy = `rollout_strategy = { max_unavailable = "1", partitions = [{ name = "canary", cluster_name = "c" }, { name = "rest", all = true }] }`
	config := func(image, timeout string) {
		web := with(strings.Replace(s.workload("web"), "pause:3.10", image, 1), strategy)
		w.configure(t, s.provider("", on, on, on), web, s.bundle("free", image), target("deployment_timeout = \""+timeout+"\"", "fleet_bundle.web.bundles", "fleet_bundle.free.bundles"))
	}
	config("pause:3.9", "5m")
	w.apply(t)
	before := []map[string]record{s.releases(t, 0), s.releases(t, 1)}

	s.forbidPods(t, 2)
	config("pause:3.10", "3s")
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "upgrading c/web failed", "held: a/web, b/web", "cluster c is not ready, so maxUnavailable (1) allows no upgrade")
	if diff := cmp.Diff(map[string]string{
		"a/web": "Ready", "b/web": "Ready", "c/web": "ErrApplied", "a/free": "Ready", "b/free": "Ready", "c/free": "Ready",
	}, w.states(t)); diff != "" {
		t.Errorf("saved states (-want +got):\n%s", diff)
	}
	for i, records := range before {
		if after := s.releases(t, i); after["web"] != records["web"] {
			t.Errorf("what was held on cluster %d was touched: %v, then %v", i, records["web"], after["web"])
		}
		if got := s.value(t, i, "free"); got != "pause:3.10" {
			t.Errorf("a bundle without a rollout strategy was held on cluster %d: %s", i, got)
		}
	}
	s.allowPods(t, 2)
	config("pause:3.10", "5m")
	if diff := cmp.Diff([]string{"~ a/web", "~ b/web", "~ c/web"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	expectSays(t, unwrapped(w.run(t, "plan", "-input=false", "-out=tfplan")),
		"1. web on c (partition canary) 2. web on a (partition rest) 3. web on b (partition rest)")
	w.run(t, "apply", "-input=false", "tfplan")
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	for i := range 3 {
		s.expectNothing(t, i)
	}
}

// The canary fails when everything is new: nothing else is installed, Terraform taints the target,
// and the next apply continues.
func TestAccCanaryFailsAtFirst(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	web := with(s.workload("web"), `rollout_strategy = { partitions = [{ name = "canary", cluster_name = "c", max_unavailable = "0" }, { all = true }] }`)
	s.forbidPods(t, 2)
	w.configure(t, s.provider("", on, on, on), web, target("deployment_timeout = \"3s\"", "fleet_bundle.web.bundles"))
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "held: a/web, b/web", "in partition canary", "at most 0 may be")
	if diff := cmp.Diff(map[string]string{"c/web": "ErrApplied"}, w.states(t)); diff != "" {
		t.Errorf("saved states (-want +got):\n%s", diff)
	}
	for i := range 2 {
		s.expectNothing(t, i)
	}
	s.allowPods(t, 2)
	w.configure(t, s.provider("", on, on, on), web, target("", "fleet_bundle.web.bundles"))
	w.apply(t)
	for i := range 3 {
		s.expectReleases(t, i, "web")
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	for i := range 3 {
		s.expectNothing(t, i)
	}
}

// Clusters in no partition never get the bundle, and the plan reports it.
func TestAccClustersInNoPartition(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	web := with(s.bundle("web", "x"), `rollout_strategy = { partitions = [{ cluster_name = "b" }] }`)
	w.configure(t, s.provider("", on, on), web, target("", "fleet_bundle.web.bundles"))
	if output := unwrapped(w.run(t, "plan", "-input=false")); !strings.Contains(output, "in no partition") || !strings.Contains(output, "+1 ~0 -0 =0, 1 held") {
		t.Errorf("the plan does not say what is held:\n%s", output)
	}
	w.apply(t)
	s.expectNothing(t, 0)
	s.expectReleases(t, 1, "web")
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 1)
}

// A paused bundle is planned as held: it keeps its release, no change of it begins, and it
// continues when the pause ends.
func TestAccPaused(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	of := target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles")
	paused := func(provider string) string { return strings.Replace(provider, "b = {", "b = { paused = true,", 1) }
	w.configure(t, paused(s.provider("", on, on)), s.bundle("one", "x"), with(s.bundle("two", "x"), "paused = true"), of)
	expectSays(t, unwrapped(w.run(t, "plan", "-input=false", "-out=tfplan")), "Target all: deployments +1 ~0 -0 =0, 3 held", "1. one on a Held: one on b; two on a, b")
	w.run(t, "apply", "-input=false", "tfplan")
	if diff := cmp.Diff(map[string]string{"a/one": "Ready"}, w.states(t)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	s.expectReleases(t, 0, "one")
	s.expectNothing(t, 1)
	if output := unwrapped(w.expectEmptyPlan(t)); !strings.Contains(output, "- a/two, b/one, b/two: ") {
		t.Errorf("the plan does not say what is held:\n%s", output)
	}

	// A change of an existing deployment is held, too.
	w.configure(t, paused(s.provider("", on, on)), with(s.bundle("one", "y"), "paused = true"), with(s.bundle("two", "x"), "paused = true"), of)
	if output := unwrapped(w.run(t, "apply", "-auto-approve", "-input=false")); !strings.Contains(output, "- a/one, a/two, b/one, b/two: ") {
		t.Errorf("the plan does not say what is held:\n%s", output)
	}
	if got := s.value(t, 0, "one"); got != "x" {
		t.Errorf("what is paused was changed to %q", got)
	}
	w.configure(t, s.provider("", on, on), s.bundle("one", "y"), s.bundle("two", "x"), of)
	w.apply(t)
	for i := range 2 {
		s.expectReleases(t, i, "one", "two")
	}
	if got := s.value(t, 0, "one"); got != "y" {
		t.Errorf("the value is %q", got)
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
}

// A cluster is down during a rollout: it counts as unavailable, and when it is back the next apply
// continues.
func TestAccRolloutWithAClusterDown(t *testing.T) {
	t.Parallel()
	env := testenv.New(t, 2)
	s, w := newFixture(t, env), newWorkspace(t)
	config := func(value string) {
		web := with(s.bundle("web", value), `rollout_strategy = { max_unavailable = "1" }`)
		w.configure(t, s.provider("", on, on), web, target("", "fleet_bundle.web.bundles"))
	}
	config("x")
	w.apply(t)
	stop(t, env.Cluster(0))
	config("y")
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "a/web", "does not respond", "held: b/web", "cluster a is not ready")
	if got := s.value(t, 1, "web"); got != "x" {
		t.Errorf("the other cluster was changed beyond the budget: %q", got)
	}
	start(t, env.Cluster(0))
	w.apply(t)
	eventually(t, "both are changed", func(context.Context) (bool, error) {
		return s.value(t, 0, "web") == "y" && s.value(t, 1, "web") == "y", nil
	})
	w.expectEmptyPlan(t)
}
