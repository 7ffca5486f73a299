package acceptance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// Users of Fleet have published each of these incidents.

// deleteRecords deletes the records of all releases of the test and leaves the objects, like a user
// who cleans up Secrets.
func (s *fixture) deleteRecords(t *testing.T, i int) {
	t.Helper()
	err := s.client(t, i).CoreV1().Secrets(s.namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		t.Fatal(err)
	}
}

// uids returns the identities of the config maps and deployments of the test on the first cluster.
func (s *fixture) uids(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	configMaps, err := s.client(t, 0).CoreV1().ConfigMaps(s.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=Helm"})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range configMaps.Items {
		found["ConfigMap/"+object.Name] = string(object.UID)
	}
	deployments, err := s.client(t, 0).AppsV1().Deployments(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range deployments.Items {
		found["Deployment/"+object.Name] = string(object.UID)
	}
	return found
}

// chartOf is a fleet_bundle of a chart with one config map and a value.
func (s *fixture) chartOf(name, value string) string {
	return fmt.Sprintf(`
resource "fleet_bundle" %q {
  name = %q
  default_namespace = %q
  files = {
    "Chart.yaml"        = yamlencode({ apiVersion = "v2", name = %q, version = "1.0.0" })
    "templates/cm.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  key: {{ .Values.word | quote }}\n"
  }
  helm = { release_name = %q, values = yamlencode({ word = %q }) }
}
`, name, name, s.namespace, name, name, value)
}

// The record of a release is deleted: one apply restores it, values included, and the objects stay
// the same.
func TestAccIncidentDeletedReleaseRecordIsRestored(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	w.configure(t, s.provider("", on), s.chartOf("web", "swordfish"), target("", "fleet_bundle.web.bundles"))
	w.apply(t)
	before := s.uids(t)
	s.deleteRecords(t, 0)
	if diff := cmp.Diff([]string{"+ a/web"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	w.apply(t)
	if !strings.Contains(s.unpacked(t, 1), `"word":"swordfish"`) {
		t.Errorf("the values are not in the restored record:\n%s", s.unpacked(t, 1))
	}
	if diff := cmp.Diff(before, s.uids(t)); diff != "" {
		t.Errorf("objects were recreated (-before +after):\n%s", diff)
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// The same cluster by another connection (another file, another context name, its address), at
// another address, or restarted: nothing is redeployed.
func TestAccIncidentAnotherPathOrRestartRedeploysNothing(t *testing.T) {
	t.Parallel()
	env := testenv.New(t, 1)
	s, w := newFixture(t, env), newWorkspace(t)
	rest := []string{s.workload("one"), target("", "fleet_bundle.one.bundles")}
	entry := func(connection string) string {
		return fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = {\n    a = { %s, labels = { on = \"yes\" } }\n  }\n}\n", s.namespace, connection)
	}
	byContext := func(path, context string) string {
		return fmt.Sprintf("config_path = %q, config_context = %q", path, context)
	}
	configure := func(connection string) { w.configure(t, append(rest, entry(connection))...) }
	configure(byContext(env.Kubeconfig(), env.Contexts()[0]))
	w.apply(t)
	releases, objects := s.releases(t, 0), s.uids(t)

	renamed, err := clientcmd.LoadFromFile(env.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	renamed.Contexts["another"] = renamed.Contexts[env.Contexts()[0]]
	path := filepath.Join(w.dir, "elsewhere")
	if err := clientcmd.WriteToFile(*renamed, path); err != nil {
		t.Fatal(err)
	}
	cluster := env.Cluster(0)
	for _, connection := range []string{
		byContext(path, "another"),
		fmt.Sprintf("host = %q, cluster_ca_certificate = %q, token = %q", cluster.Host(), cluster.CACertificate(), cluster.Token()),
	} {
		configure(connection)
		w.expectEmptyPlan(t)
	}
	configure(byContext(env.Kubeconfig(), env.Contexts()[0]))
	stop(t, cluster)
	start(t, cluster)
	w.expectEmptyPlan(t)
	w.apply(t)
	if diff := cmp.Diff(releases, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("releases (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(objects, s.uids(t)); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
}

// Releases were removed and their objects kept, as with keepResources. Another owner takes the
// objects over under other names: nothing is missing, custom resources and their definitions
// included.
func TestAccIncidentTakeOwnershipAfterKeepResourcesMissesNothing(t *testing.T) {
	t.Parallel()
	s, first, second := newFixture(t, testenv.Shared(t)), newWorkspace(t), newWorkspace(t)
	group := s.namespace + ".example.com"
	crd := fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.%s}\n"+
		"spec:\n  group: %s\n  scope: Namespaced\n  names: {plural: things, singular: thing, kind: Thing}\n"+
		"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]\n", group, group)
	thing := fmt.Sprintf("apiVersion: %s/v1\nkind: Thing\nmetadata: {name: thing}\nspec: {size: 1}\n", group)
	config := func(owner, suffix, extra string) []string {
		renamed := func(bundle, name string) string {
			return strings.Replace(bundle, "files =", fmt.Sprintf("delete_crd_resources = true\n  helm = { release_name = %q }\n  files =", name+suffix), 1)
		}
		return []string{
			strings.Replace(s.provider("", on), fmt.Sprintf("owner = %q", s.namespace), fmt.Sprintf("owner = %q", owner), 1),
			renamed(s.bundleOf("kinds", crd), "kinds"), renamed(s.bundleOf("thing", thing), "thing"), renamed(s.workload("one"), "one"),
			targetOf("kinds", "yes", extra, "fleet_bundle.kinds.bundles"),
			targetOf("all", "yes", extra+"\ndepends_on = [fleet_cluster_target.kinds]", "fleet_bundle.thing.bundles", "fleet_bundle.one.bundles"),
		}
	}
	client, err := dynamic.NewForConfig(s.env.Cluster(0).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	custom := func() map[string]string {
		found := s.uids(t)
		for name, get := range map[string]func() (*unstructured.Unstructured, error){
			"definition": func() (*unstructured.Unstructured, error) {
				return client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).Get(t.Context(), "things."+group, metav1.GetOptions{})
			},
			"resource": func() (*unstructured.Unstructured, error) {
				return client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}).Namespace(s.namespace).Get(t.Context(), "thing", metav1.GetOptions{})
			},
		} {
			object, err := get()
			if err != nil {
				t.Fatalf("the custom %s: %v", name, err)
			}
			found["custom "+name] = string(object.GetUID())
		}
		return found
	}

	first.configure(t, config("first-"+s.namespace, "", "")...)
	first.apply(t)
	before := custom()
	s.deleteRecords(t, 0)

	second.configure(t, config("second-"+s.namespace, "-now", "")...)
	second.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "exists and cannot be imported into the current release")
	second.configure(t, config("second-"+s.namespace, "-now", "take_ownership = true")...)
	second.apply(t)
	second.expectEmptyPlan(t)
	if diff := cmp.Diff(before, custom()); diff != "" {
		t.Errorf("objects were recreated (-before +after):\n%s", diff)
	}
	second.run(t, "apply", "-refresh-only", "-auto-approve")
	second.expectEmptyPlan(t)
	second.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// A label of a cluster, or a group's selector, changes: deployments move in that apply, and the
// counts are right when it returns.
func TestAccIncidentGroupOrLabelChangeMovesDeployments(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for _, change := range []string{"label", "group", "target"} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			one := s.bundle("one", "x")
			configure := func(groups, a, b, rules string) {
				w.configure(t, s.provider("  cluster_groups = { "+groups+" }", a, b), one,
					"resource \"fleet_cluster_target\" \"all\" {\n  name = \"all\"\n  bundles = [fleet_bundle.one.bundles]\n  targets = ["+rules+"]\n}\n")
			}
			const (
				dev, prod     = `env = "dev"`, `env = "prod"`
				group, byName = `{ cluster_group = "prod" }`, `{ cluster_name = "b" }`
			)
			selects := func(env string) string {
				return fmt.Sprintf("prod = { selector = { match_labels = { env = %q } } }", env)
			}
			configure(selects("prod"), prod, dev, group)
			w.apply(t)
			s.expectReleases(t, 0, "one")
			s.expectReleases(t, 1)
			switch change {
			case "label":
				configure(selects("prod"), dev, prod, group)
			case "group":
				configure(selects("dev"), prod, dev, group)
			case "target":
				configure(selects("prod"), prod, dev, byName)
			}
			if diff := cmp.Diff([]string{"+ b/one", "- a/one"}, w.plannedChanges(t)); diff != "" {
				t.Errorf("planned (-want +got):\n%s", diff)
			}
			w.run(t, "apply", "-input=false", "tfplan")
			s.expectNothing(t, 0)
			s.expectReleases(t, 1, "one")
			if ready, all := w.shown(t).readyClusters(); ready != 1 || all != 1 {
				t.Errorf("ready clusters %d/%d", ready, all)
			}
			if diff := cmp.Diff(map[string]string{"b/one": "Ready"}, w.states(t)); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			s.expectNothing(t, 1)
		})
	}
}

// A move fails and is undone: the releases that it left are removed, and the former ones stay.
func TestAccIncidentMoveThatIsTakenBackLeavesNothing(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	s, elsewhere, w := newFixture(t, env), newFixture(t, env), newWorkspace(t)
	elsewhere.forbidPods(t, 0)
	of := target(s.podsFit(), "fleet_bundle.one.bundles")
	w.configure(t, s.provider("", on), s.workload("one"), of)
	w.apply(t)
	before, objects := s.releases(t, 0), s.uids(t)
	w.configure(t, s.provider("", on), strings.Replace(s.workload("one"), s.namespace, elsewhere.namespace, 1), of)
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "not ready")
	elsewhere.expectReleases(t, 0, "one")

	w.configure(t, s.provider("", on), s.workload("one"), of)
	w.apply(t)
	elsewhere.expectNothing(t, 0)
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("the release it was to move from (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(objects, s.uids(t)); diff != "" {
		t.Errorf("its objects (-before +after):\n%s", diff)
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// An error names its cluster once, and its cause does not name the cluster again.
func TestAccIncidentErrorsNameTheClusterOnce(t *testing.T) {
	t.Parallel()
	env := testenv.New(t, 1)
	s, w := newFixture(t, env), newWorkspace(t)
	provider := fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = { frankfurt = { config_path = %q, config_context = %q, labels = { on = \"yes\" } } }\n}\n",
		s.namespace, env.Kubeconfig(), env.Contexts()[0])
	w.configure(t, provider, s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	stop(t, env.Cluster(0))
	output := unwrapped(w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "does not respond"))
	if count := strings.Count(output, "Error: "); count != 1 {
		t.Errorf("one cause made %d errors:\n%s", count, output)
	}
	_, detail, _ := strings.Cut(output, "Deployments: ")
	named, rest, _ := strings.Cut(detail, "Cause: ")
	cause, _, _ := strings.Cut(rest, "Now: ")
	if strings.TrimSpace(named) != "frankfurt/one" || strings.Contains(cause, "frankfurt") || cause == "" {
		t.Errorf("deployments %q, cause %q:\n%s", named, cause, output)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "crash.log")); err == nil {
		t.Error("Terraform crashed")
	}
}
