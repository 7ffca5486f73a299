package acceptance_test

import (
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The roles that the project ships for an engine, for users with tokens of their own. Each row is
// what a user may do; everything else among the verbs is denied.
func TestAccEngineRights(t *testing.T) {
	t.Parallel()
	fleet := testenv.SharedFleet(t)
	const (
		here      = testenv.FleetNamespace
		ofCluster = "cluster-of-c1" // as Fleet makes them
		system    = "kube-system"
		// everywhere is all namespaces at once.
		everywhere = ""
	)
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	resources := []string{"fleet.cattle.io/bundles", "fleet.cattle.io/clusters", "fleet.cattle.io/clustergroups", "fleet.cattle.io/bundledeployments", "fleet.cattle.io/gitrepos", "/secrets"}
	tests := map[string]map[string]string{
		"engine-plan": {
			here + " fleet.cattle.io/bundles":                 "get list watch",
			here + " fleet.cattle.io/clusters":                "get list watch",
			here + " fleet.cattle.io/clustergroups":           "get list watch",
			here + " fleet.cattle.io/bundledeployments":       "get list watch",
			ofCluster + " fleet.cattle.io/bundledeployments":  "get list watch",
			system + " fleet.cattle.io/bundledeployments":     "get list watch",
			everywhere + " fleet.cattle.io/bundledeployments": "get list watch",
		},
		"engine-apply": {
			here + " fleet.cattle.io/bundles":                 "get list watch create update patch delete",
			here + " fleet.cattle.io/clusters":                "get list watch",
			here + " fleet.cattle.io/clustergroups":           "get list watch",
			here + " /secrets":                                "get create update",
			here + " fleet.cattle.io/bundledeployments":       "get list watch patch",
			ofCluster + " fleet.cattle.io/bundledeployments":  "get list watch patch",
			system + " fleet.cattle.io/bundledeployments":     "get list watch patch",
			everywhere + " fleet.cattle.io/bundledeployments": "get list watch patch",
		},
	}
	for name, may := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user, err := fleet.User(t.Context(), name, []byte(read(t, filepath.Join("../../examples/rbac", name+".yaml"))))
			if err != nil {
				t.Fatal(err)
			}
			config, err := clientcmd.RESTConfigFromKubeConfig([]byte(user.Kubeconfig))
			if err != nil {
				t.Fatal(err)
			}
			for _, namespace := range []string{here, ofCluster, system, everywhere} {
				for _, resource := range resources {
					var allowed []string
					for _, verb := range verbs {
						if isAllowed(t, config, namespace, resource, verb) {
							allowed = append(allowed, verb)
						}
					}
					if got, want := strings.Join(allowed, " "), may[namespace+" "+resource]; got != want {
						t.Errorf("%s of %s in namespace %q: got %q, want %q", name, resource, namespace, got, want)
					}
				}
			}
			expectBundleWrites(t, config, name, name == "engine-apply")
			w := newWorkspace(t)
			w.write(t, "kubeconfig", user.Kubeconfig)
			w.configure(t, "provider \"fleet\" {\n  owner = \"acc\"\n  engine = { config_path = \"kubeconfig\" }\n}\n"+
				"data \"fleet_clusters\" \"all\" {}\noutput \"names\" { value = join(\" \", sort(keys(data.fleet_clusters.all.clusters))) }\n")
			if text := w.run(t, "plan", "-input=false"); !strings.Contains(text, `"c1 c2 c3"`) {
				t.Errorf("the plan does not show the clusters:\n%s", text)
			}
			w.configure(t, "provider \"fleet\" {\n  owner = \"acc\"\n  engine = {\n    config_path = \"kubeconfig\"\n    namespace = \"kube-system\"\n  }\n}\ndata \"fleet_clusters\" \"all\" {}\n")
			w.fail(t, []string{"plan", "-input=false"}, "Cannot read the clusters of Fleet", "it denies the request")
		})
	}
}

func isAllowed(t *testing.T, config *rest.Config, namespace, resource, verb string) bool {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	group, kind, _ := strings.Cut(resource, "/")
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Resource: kind},
	}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}

// expectBundleWrites writes a Bundle without targets and deletes it, or expects that the write is
// denied.
func expectBundleWrites(t *testing.T, config *rest.Config, name string, may bool) {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	bundles := client.Resource(schema.GroupVersionResource{Group: "fleet.cattle.io", Version: "v1alpha1", Resource: "bundles"}).Namespace(testenv.FleetNamespace)
	bundle := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Bundle", "spec": map[string]any{}}}
	bundle.SetName(name + "-rights")
	_, created := bundles.Create(t.Context(), bundle, metav1.CreateOptions{})
	deleted := bundles.Delete(t.Context(), bundle.GetName(), metav1.DeleteOptions{})
	if may && (created != nil || deleted != nil) {
		t.Errorf("writing a Bundle: %v, %v", created, deleted)
	}
	if !may && (!apierrors.IsForbidden(created) || !apierrors.IsForbidden(deleted)) {
		t.Errorf("writing a Bundle: got %v, %v, want that both are forbidden", created, deleted)
	}
}
