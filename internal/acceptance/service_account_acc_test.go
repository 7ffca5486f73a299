package acceptance_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A bundle with a service account is installed and removed only with the rights of that account.
// The account is in the namespace where Fleet's agents run.
func TestAccServiceAccount(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	s.makeAccount(t, 0, s.namespace)
	bundle := func(manifest string) string {
		return strings.Replace(s.bundleOf("one", manifest), "files = ", "service_account = \""+s.namespace+"\"\n  create_namespace = false\n  files = ", 1)
	}
	// The account has rights in its namespace and nowhere else.
	w.configure(t, s.provider("", on), bundle(configMap("one", "x")+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: stray, namespace: default}\n"), target("", "fleet_bundle.one.bundles"))
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "a/one", "the cluster denies the request", "system:serviceaccount:cattle-fleet-system:"+s.namespace)
	w.configure(t, s.provider("", on), bundle(configMap("one", "x")), target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	s.expectReleases(t, 0, "one")
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// makeAccount makes a service account that may do everything in the namespace of
// the test, which it makes too.
func (s *fixture) makeAccount(t *testing.T, i int, name string) {
	t.Helper()
	client, agents := s.client(t, i), "cattle-fleet-system"
	for _, namespace := range []string{agents, s.namespace} {
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		_, err := client.CoreV1().Namespaces().Create(t.Context(), made, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		if err == nil && namespace == agents { // Tests beside this one use it too.
			s.env.Cluster(i).RemoveAtEnd(agents)
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().ServiceAccounts(agents).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "everything"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: agents, Name: name}},
	}
	if _, err := client.RbacV1().RoleBindings(s.namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := cleanupContext(t)
		defer cancel()
		if err := client.CoreV1().ServiceAccounts(agents).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Logf("removing the service account of the test: %v", err)
		}
	})
}
