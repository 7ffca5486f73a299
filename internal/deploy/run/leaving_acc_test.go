package run_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// onCluster is a namespace of the first cluster and an engine that deploys to it.
type onCluster struct {
	cluster   string
	namespace string
	client    kubernetes.Interface
	runner    *run.Runner
	prior     map[deploy.Key]deploy.Record
}

func newOnCluster(t *testing.T, namespace string) *onCluster {
	t.Helper()
	env := testenv.Shared(t)
	client, err := kubernetes.NewForConfig(env.Cluster(0).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	env.RemoveAfter(t, namespace)
	return &onCluster{cluster: env.Contexts()[0], namespace: namespace, client: client, runner: run.New(realClusters(env), 4), prior: map[deploy.Key]deploy.Record{}}
}

// deployment returns a deployment of one file.
func (o *onCluster) deployment(name, digest, file string, options fleetyaml.Options) target.Deployment {
	d := deployment(o.cluster, name, digest)
	d.Namespace, d.Options = o.namespace, options
	d.Bundle = &bundle.Bundle{Name: name, Content: o.namespace + name + digest, Files: []bundle.File{{Name: "a.yaml", Content: []byte(file)}}}
	return d
}

// request returns a request of a target that no other test uses. Otherwise releases of the same
// bundle elsewhere would count as left behind by a move.
func (o *onCluster) request() run.Request {
	asked := request(o.prior)
	asked.Target = o.namespace
	return asked
}

func (o *onCluster) write(t *testing.T, deployments ...target.Deployment) {
	t.Helper()
	asked := o.request()
	asked.Write = deployments
	outcome := o.runner.Apply(t.Context(), asked)
	expectNoFailures(t, outcome.Failures)
	maps.Copy(o.prior, outcome.Records)
}

func (o *onCluster) remove(t *testing.T, name string) []deploy.Notice {
	t.Helper()
	asked := o.request()
	asked.Remove = []deploy.Key{key(o.cluster, name)}
	outcome := o.runner.Apply(t.Context(), asked)
	expectNoFailures(t, outcome.Failures)
	delete(o.prior, key(o.cluster, name))
	return outcome.Notices
}

// configMaps returns the UIDs of the ConfigMaps in the namespace by name, without the one that
// Kubernetes creates.
func (o *onCluster) configMaps(t *testing.T) map[string]string {
	t.Helper()
	found, err := o.client.CoreV1().ConfigMaps(o.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uids := map[string]string{}
	for _, item := range found.Items {
		if item.Name != "kube-root-ca.crt" {
			uids[item.Name] = string(item.UID)
		}
	}
	return uids
}

func (o *onCluster) records(t *testing.T) []string {
	t.Helper()
	found, err := o.client.CoreV1().Secrets(o.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(found.Items))
	for i, item := range found.Items {
		names[i] = item.Name
	}
	return names
}

func configMapFile(name string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

// deleteNamespace removes a namespace with its last release. It does so only if the provider
// created the namespace and nothing else is in it.
func TestAccNamespaceGoesWithItsLastRelease(t *testing.T) {
	t.Parallel()
	leaving := fleetyaml.Options{DeleteNamespace: true}
	tests := map[string]struct {
		before, between func(*testing.T, *onCluster)
		inNamespace     []string
		stays           bool
	}{
		"made here": {},
		"somebody else's object": {
			between: func(t *testing.T, o *onCluster) {
				t.Helper()
				foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}
				if _, err := o.client.CoreV1().ConfigMaps(o.namespace).Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			},
			inNamespace: []string{"ConfigMap foreign"}, stays: true,
		},
		"made before": {
			before: func(t *testing.T, o *onCluster) {
				t.Helper()
				made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.namespace}}
				if _, err := o.client.CoreV1().Namespaces().Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			},
			stays: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "leaving-"+bundle.Name(name))
			if test.before != nil {
				test.before(t, o)
			}
			o.write(t, o.deployment("one", "v1-a", configMapFile("one"), leaving), o.deployment("two", "v1-a", configMapFile("two"), leaving))
			if test.between != nil {
				test.between(t, o)
			}
			first := o.remove(t, "one")
			if test.before == nil && (len(first) != 1 || !slices.Contains(first[0].Removed.InNamespace, "ConfigMap two")) {
				t.Errorf("the first removal does not say what keeps the namespace: %+v", first)
			}
			var got []string
			for _, notice := range o.remove(t, "two") {
				got = append(got, notice.Removed.InNamespace...)
			}
			if diff := cmp.Diff(test.inNamespace, got); diff != "" {
				t.Errorf("in the namespace (-want +got):\n%s", diff)
			}
			_, err := o.client.CoreV1().Namespaces().Get(t.Context(), o.namespace, metav1.GetOptions{})
			if stays := !apierrors.IsNotFound(err); stays != test.stays {
				t.Errorf("the namespace stays: %t, want %t (%v)", stays, test.stays, err)
			}
		})
	}
}

// An interrupted removal is continued, when only its namespace is left.
func TestAccNamespaceGoesAfterARelease(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "leaving-later")
	o.write(t, o.deployment("web", "v1-a", configMapFile("web"), fleetyaml.Options{DeleteNamespace: true}))
	cluster, err := realClusters(testenv.Shared(t))(o.cluster)
	if err != nil {
		t.Fatal(err)
	}
	observed, err := cluster.Release(t.Context(), o.namespace, "web")
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range o.records(t) {
		if err := o.client.CoreV1().Secrets(o.namespace).Delete(t.Context(), record, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.client.CoreV1().ConfigMaps(o.namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Uninstall(t.Context(), *observed, release.Removal{Mark: observed.Mark, Timeout: time.Minute, Known: release.Known{UninstallPolicy: observed.Mark.UninstallPolicy}}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.client.CoreV1().Namespaces().Get(t.Context(), o.namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace is still there (%v)", err)
	}
}

// Each deployment has its own labels and annotations on a namespace.
func TestAccNamespaceKeysAreOwn(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "keys")
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.namespace, Labels: map[string]string{"theirs": "stays"}}}
	if _, err := o.client.CoreV1().Namespaces().Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	keys := func(labels, annotations map[string]string) fleetyaml.Options {
		return fleetyaml.Options{NamespaceLabels: labels, NamespaceAnnotations: annotations}
	}
	expect := func(step string, labels, annotations map[string]string) {
		t.Helper()
		found, err := o.client.CoreV1().Namespaces().Get(t.Context(), o.namespace, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		delete(found.Labels, "kubernetes.io/metadata.name")
		if diff := cmp.Diff(labels, found.Labels); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", step, diff)
		}
		if diff := cmp.Diff(annotations, found.Annotations); diff != "" {
			t.Errorf("%s: annotations (-want +got):\n%s", step, diff)
		}
	}
	type words = map[string]string

	o.write(t, o.deployment("one", "v1-a", configMapFile("one"), keys(words{"team": "a", "pod-security.kubernetes.io/warn": "baseline"}, words{"note": "x"})))
	o.write(t, o.deployment("two", "v1-a", configMapFile("two"), keys(words{"tier": "b"}, nil)))
	expect("set", words{"theirs": "stays", "team": "a", "pod-security.kubernetes.io/warn": "baseline", "tier": "b"}, words{"note": "x"})
	o.write(t, o.deployment("one", "v1-b", configMapFile("one"), keys(words{"team": "c"}, nil)))
	expect("changed", words{"theirs": "stays", "team": "c", "tier": "b"}, nil)
	o.write(t, o.deployment("one", "v1-c", configMapFile("one"), keys(nil, nil)))
	expect("no longer asked for", words{"theirs": "stays", "tier": "b"}, nil)
	o.remove(t, "two")
	expect("removed", words{"theirs": "stays"}, nil)
}

// A namespace that is declared as existing is not created to set its labels.
func TestAccNamespaceIsNotMadeUnasked(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "unasked")
	no := false
	asked := request(nil)
	asked.Write = []target.Deployment{o.deployment("one", "v1-a", configMapFile("one"), fleetyaml.Options{CreateNamespace: &no, NamespaceLabels: map[string]string{"a": "b"}})}
	outcome := o.runner.Apply(t.Context(), asked)
	if len(outcome.Failures) != 1 || !strings.Contains(outcome.Failures[0].Err.Error(), "create_namespace is false") {
		t.Errorf("failures: %v", outcome.Failures)
	}
	if _, err := o.client.CoreV1().Namespaces().Get(t.Context(), o.namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace was made: %v", err)
	}
}

// keepResources removes only the record. The next install of the same bundle, with takeOwnership,
// adopts the objects unchanged.
func TestAccKeepResources(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "keep-resources")
	keeping := fleetyaml.Options{KeepResources: true, DeleteNamespace: true}
	o.write(t, o.deployment("web", "v1-a", configMapFile("one"), keeping))
	o.write(t, o.deployment("web", "v1-b", configMapFile("one"), keeping))
	before := o.configMaps(t)
	o.remove(t, "web")
	if left := o.records(t); len(left) > 0 {
		t.Errorf("records are left: %q", left)
	}
	if diff := cmp.Diff(before, o.configMaps(t)); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
	// No state has the release any more, so its objects are taken over with consent.
	o.write(t, o.deployment("web", "v1-b", configMapFile("one"), fleetyaml.Options{Helm: &fleetyaml.Helm{TakeOwnership: true}}))
	if diff := cmp.Diff(before, o.configMaps(t)); diff != "" {
		t.Errorf("objects after the next install (-before +after):\n%s", diff)
	}
	o.remove(t, "web")
	if left := o.configMaps(t); len(left) > 0 {
		t.Errorf("objects are left: %v", left)
	}
}

// Objects that request to be kept are kept and named.
func TestAccKeptObjectsAreNamed(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "kept")
	kept := configMapFile("kept") + "  annotations: {helm.sh/resource-policy: keep, other: }\n"
	o.write(t, o.deployment("web", "v1-a", kept+configMapFile("gone"), fleetyaml.Options{}))
	notices := o.remove(t, "web")
	want := []deploy.Notice{{Cluster: o.cluster, Bundle: "web", Removed: release.Removed{Kept: []string{"ConfigMap/kept/kept"}}}}
	if diff := cmp.Diff(want, notices); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"kept"}, slices.Collect(maps.Keys(o.configMaps(t)))); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// A release can be uninstalled even if the definition of one of its kinds was removed. With the
// definition, the objects of that kind were removed.
func TestAccUninstallWithoutTheKind(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "without-kind")
	const definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: lamps.leaving.example.com}\n" +
		"spec:\n  group: leaving.example.com\n  scope: Namespaced\n  names: {kind: Lamp, plural: lamps}\n" +
		"  versions:\n  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n"
	o.write(t, o.deployment("crd", "v1-a", definition, fleetyaml.Options{DeleteCRDResources: true}))
	o.write(t, o.deployment("lamp", "v1-a", configMapFile("one")+"---\napiVersion: leaving.example.com/v1\nkind: Lamp\nmetadata: {name: lamp}\n", fleetyaml.Options{}))
	o.remove(t, "crd")
	config, err := dynamic.NewForConfig(testenv.Shared(t).Cluster(0).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	crds := config.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := crds.Get(t.Context(), "lamps.leaving.example.com", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("the definition is still there: %v", err)
	}
	o.remove(t, "lamp")
	if left := o.records(t); len(left) > 0 {
		t.Errorf("records are left: %q", left)
	}
	if left := o.configMaps(t); len(left) > 0 {
		t.Errorf("objects are left: %v", left)
	}
}

// An object that another release has taken over stays when its former release drops the object or
// is removed.
func TestAccTakenObjectStays(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, o *onCluster){
		"the former release goes": func(t *testing.T, o *onCluster) { t.Helper(); o.remove(t, "former") },
		"the former release drops it": func(t *testing.T, o *onCluster) {
			t.Helper()
			o.write(t, o.deployment("former", "v1-b", configMapFile("other"), fleetyaml.Options{}))
		},
	}
	for name, leave := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "taken-"+bundle.Name(name))
			o.write(t, o.deployment("former", "v1-a", configMapFile("shared")+configMapFile("other"), fleetyaml.Options{}))
			before := o.configMaps(t)
			o.write(t, o.deployment("next", "v1-a", configMapFile("shared"), fleetyaml.Options{Helm: &fleetyaml.Helm{TakeOwnership: true}}))
			leave(t, o)
			if got := o.configMaps(t)["shared"]; got != before["shared"] {
				t.Errorf("the object that was taken over has the UID %q, want %q", got, before["shared"])
			}
			o.remove(t, "next")
			if _, left := o.configMaps(t)["shared"]; left {
				t.Error("the object outlives its new release")
			}
		})
	}
}

// A release that has changed since it was read is not removed, and its objects stay, until it is
// read again.
func TestAccRemovalOfWhatHasChanged(t *testing.T) {
	t.Parallel()
	tests := map[string]fleetyaml.Options{
		"all of it":       {},
		"the record only": {KeepResources: true},
	}
	for name, options := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "changed-"+bundle.Name(name))
			makeNamespace(t, testenv.Shared(t), o.namespace)
			o.write(t, o.deployment("web", "v1-a", configMapFile("web"), options))
			cluster, err := realClusters(testenv.Shared(t))(o.cluster)
			if err != nil {
				t.Fatal(err)
			}
			seen, err := cluster.Release(t.Context(), o.namespace, "web")
			if err != nil || seen == nil {
				t.Fatalf("release = %v, %v", seen, err)
			}
			change := []byte(`{"metadata": {"labels": {"status": "failed"}}}`)
			if _, err := o.client.CoreV1().Secrets(o.namespace).Patch(t.Context(), o.records(t)[0], types.MergePatchType, change, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			_, err = cluster.Uninstall(t.Context(), *seen, release.Removal{Timeout: time.Minute})
			if _, changed := errors.AsType[*release.ChangedError](err); !changed {
				t.Errorf("error = %v, want a ChangedError", err)
			}
			if len(o.records(t)) != 1 || len(o.configMaps(t)) != 1 {
				t.Errorf("left are the records %v and the objects %v", o.records(t), o.configMaps(t))
			}
			o.remove(t, "web") // After reading the release again.
			if left := o.records(t); len(left) > 0 {
				t.Errorf("the records %v are left", left)
			}
		})
	}
}
