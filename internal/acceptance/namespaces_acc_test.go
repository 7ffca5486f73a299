package acceptance_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
)

// An identity for two namespaces uses the roles as they are shipped. Without namespaces, a plan says
// that it knows nothing. With them, no request about other namespaces is sent and none is refused.
func TestAccIdentityForSomeNamespaces(t *testing.T) {
	t.Parallel()
	g, w := newGate(t, 2), newWorkspace(t)
	other := g.namespace + "-two"
	t.Cleanup(func() {
		for i := range g.proxies {
			g.cleanUp(t, i, other)
		}
	})
	for i := range g.proxies {
		for _, name := range []string{g.namespace, other} {
			if _, err := g.client(t, i).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	inNamespace, ofCluster := namespaceRoles(t)
	become := func(name string, rules []rbacv1.PolicyRule) {
		t.Helper()
		g.becomeIn(t, name, map[string][]rbacv1.PolicyRule{g.namespace: rules, other: rules, metav1.NamespaceSystem: ofCluster})
	}
	becomePlanner := func() { t.Helper(); become("plan", role(t, "plan")) }
	becomeApplier := func() { t.Helper(); become("apply", inNamespace) }
	configure := func(namespaces, value, second string) {
		t.Helper()
		provider := g.provider("", on, on)
		if namespaces != "" {
			provider = strings.ReplaceAll(provider, "labels = {", "namespaces = "+namespaces+", labels = {")
		}
		two := fmt.Sprintf("resource \"fleet_bundle\" \"two\" {\n  name = \"two\"\n  default_namespace = %q\n  files = { \"cm.yaml\" = %q }\n}\n", second, configMap("two", value))
		w.configure(t, provider, g.bundle("one", value), two, target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	}
	both := fmt.Sprintf("[%q, %q]", g.namespace, other)

	configure("", "first", other)
	becomePlanner()
	said := unwrapped(w.run(t, "plan", "-input=false", "-out=tfplan"))
	for _, want := range []string{
		"cannot list releases on a, b", g.namespace + "-plan\" cannot list resource \"secrets\"", "a, b: the cluster denies", "set namespaces in the entry of the cluster",
	} {
		if strings.Count(said, want) != 1 {
			t.Errorf("the plan says %q %d times, want once:\n%s", want, strings.Count(said, want), said)
		}
	}
	becomeApplier()
	w.fail(t, []string{"apply", "-auto-approve"}, "cannot list resource \"secrets\"", "set namespaces in the entry of the cluster")

	configure(both, "first", g.namespace+"-three")
	w.fail(t, []string{"plan"}, "cannot plan a/two, b/two", "attribute namespaces of cluster a", g.namespace+"-three")

	for _, value := range []string{"first", "second"} {
		configure(both, value, other)
		becomePlanner()
		g.record()
		if said := w.run(t, "plan", "-input=false", "-out=tfplan"); strings.Contains(said, "cannot list") || strings.Contains(said, "not compared") {
			t.Errorf("the plan has not read something:\n%s", said)
		}
		expectAllowed(t, g.recorded())
		becomeApplier()
		g.record()
		w.run(t, "apply", "-input=false", "tfplan")
		expectAllowed(t, g.recorded())
		becomePlanner()
		w.expectEmptyPlan(t)
	}
	becomeApplier()
	g.record()
	w.run(t, "destroy", "-auto-approve")
	expectAllowed(t, g.recorded())
	for i := range g.proxies {
		g.expectReleases(t, i)
	}
}

// expectAllowed wants no request about Secrets of all namespaces, and none that was refused. Whether a
// namespace exists is known after its creation was refused.
func expectAllowed(t *testing.T, calls [][]faulttest.Call) {
	t.Helper()
	for i, of := range calls {
		for _, call := range of {
			url, _, _ := strings.Cut(call.URL, "?")
			isCreation := call.Verb == "create" && url == "/api/v1/namespaces"
			if call.Status == http.StatusForbidden && !isCreation || url == "/api/v1/secrets" {
				t.Errorf("cluster %d was sent %s", i, call)
			}
		}
	}
}

// namespaceRoles returns the rules of the roles for an identity of some namespaces, as users get them.
func namespaceRoles(t *testing.T) (inNamespace, ofCluster []rbacv1.PolicyRule) {
	t.Helper()
	content := read(t, "../../examples/rbac/namespaces.yaml")
	first, second, _ := strings.Cut(content, "\n---\n")
	var (
		role  rbacv1.ClusterRole
		other rbacv1.Role
	)
	if err := yaml.UnmarshalStrict([]byte(first), &role); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(second), &other); err != nil {
		t.Fatal(err)
	}
	if other.Namespace != metav1.NamespaceSystem || len(role.Rules) == 0 || len(other.Rules) == 0 {
		t.Fatalf("the roles are %+v and %+v", role, other)
	}
	return role.Rules, other.Rules
}

// becomeIn sets the identity on all clusters to a user with exactly these rights in namespaces.
func (g *gate) becomeIn(t *testing.T, name string, rules map[string][]rbacv1.PolicyRule) {
	t.Helper()
	for i := range g.proxies {
		token := g.user(t, i, name, nil)
		for namespace, allowed := range rules {
			if err := g.env.Cluster(i).Allow(t.Context(), g.namespace+"-"+name, namespace, allowed); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() {
			ctx, cancel := cleanupContext(t)
			defer cancel()
			for namespace := range rules {
				if err := g.env.Cluster(i).Disallow(ctx, g.namespace+"-"+name, namespace); err != nil {
					t.Logf("removing the rights of a user: %v", err)
				}
			}
		})
		if err := os.WriteFile(filepath.Join(g.tokens, strconv.Itoa(i)), []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
