package acceptance_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// repository is a fleet_gitrepo of a folder.
func (w *workspace) repository() string {
	return fmt.Sprintf("resource \"fleet_gitrepo\" \"all\" {\n  name = \"all\"\n  directory = %q\n}\n", filepath.Join(w.dir, "repo"))
}

// A violation is an error of the plan with file and line, once for both clusters, and nothing is
// written. With action warn it is a warning, and the apply succeeds.
func TestAccPolicies(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	w.write(t, "repo/app/fleet.yaml", "defaultNamespace: "+s.namespace+"\nname: app\nhelm: {releaseName: app}\n")
	w.write(t, "repo/app/cm.yaml", "# first\n---\n"+configMap("one", "x")+"---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: hidden\n")
	configure := func(policy string) {
		w.configure(t, s.provider("  policies = { tenants = { applies_to = { all = true }, "+policy+" } }\n", on, on), w.repository(), target("", "fleet_gitrepo.all.bundles"))
	}
	configure(`denied_kinds = ["Secret"]`)
	output := w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "policy tenants (denied_kinds) refuses", "a/app", "b/app", "Secret/"+s.namespace+"/hidden (cm.yaml:11)", "the kind is denied")
	if count := strings.Count(output, "the kind is denied"); count != 1 {
		t.Errorf("reported %d times:\n%s", count, output)
	}
	for i := range 2 {
		s.expectNothing(t, i)
	}
	configure(`namespaces = ["` + s.namespace + `"], image_registries = ["ghcr.io"], denied_kinds = ["ClusterRole*"], labels = { team = "*" }, action = "warn"`)
	if output := w.run(t, "apply", "-auto-approve", "-input=false"); !strings.Contains(output, "policy tenants (labels) warns of") || !strings.Contains(output, "the label team is missing") {
		t.Errorf("no warning in:\n%s", output)
	}
	s.expectReleases(t, 0, "app")
	w.expectEmptyPlan(t)
	configure(`denied_kinds = ["Secret"]`)
	w.expectEmptyPlan(t) // An unchanged deployment is not checked.
}

// The image of a chart comes from its values, which a customization changes for one cluster.
func TestAccPolicyOfImages(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	w.write(t, "repo/app/fleet.yaml", "defaultNamespace: "+s.namespace+"\nname: app\nhelm: {releaseName: app, values: {image: ghcr.io/acme/web}}\n"+
		"targetCustomizations:\n- {name: b, clusterName: b, helm: {values: {image: web}}}\n")
	w.write(t, "repo/app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n")
	w.write(t, "repo/app/templates/web.yaml", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: web}\nspec:\n  schedule: '@yearly'\n  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: '{{ .Values.image }}'}]}}}}\n")
	w.configure(t, s.provider("  policies = { images = { applies_to = { all = true }, image_registries = [\"ghcr.io/acme/*\"] } }\n", on, on), w.repository(), target("", "fleet_gitrepo.all.bundles"))
	output := w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "policy images (image_registries) refuses", "docker.io/library/web", "app/templates/web.yaml")
	if strings.Contains(output, "a/app") {
		t.Errorf("cluster a is refused as well:\n%s", output)
	}
	s.expectNothing(t, 0)
	s.expectNothing(t, 1)
}

// The result of a chart's lookup is known only in the apply. The apply refuses it before anything
// is written, the namespace included.
func TestAccPolicyWhileApplying(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	w.write(t, "repo/app/fleet.yaml", "defaultNamespace: "+s.namespace+"\nname: app\nhelm: {releaseName: app}\n")
	w.write(t, "repo/app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n")
	w.write(t, "repo/app/templates/x.yaml", "{{ if lookup \"v1\" \"Namespace\" \"\" \"kube-system\" }}apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: "+s.namespace+"}\n"+
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\n{{ end }}\n")
	w.configure(t, s.provider("  policies = { tenants = { applies_to = { all = true }, cluster_scoped = false } }\n", on), w.repository(), target("", "fleet_gitrepo.all.bundles"))
	w.run(t, "plan", "-input=false")
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "policies do not allow it", "policy tenants, cluster_scoped", "ClusterRoleBinding.rbac.authorization.k8s.io/"+s.namespace)
	client := s.client(t, 0)
	if _, err := client.RbacV1().ClusterRoleBindings().Get(t.Context(), s.namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the binding is there: %v", err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), s.namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace is there: %v", err)
	}
}

// A default service account is part of the plan, and the release is applied by this account.
func TestAccPolicyOfServiceAccounts(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	s.makeAccount(t, 0, s.namespace)
	bundle := strings.Replace(s.bundleOf("one", configMap("one", "x")), "files = ", "create_namespace = false\n  files = ", 1)
	stray := strings.Replace(s.bundleOf("one", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stray, namespace: default}\n"), "files = ", "create_namespace = false\n  files = ", 1)
	configure := func(accounts, bundle string) {
		w.configure(t, s.provider("  policies = { accounts = { applies_to = { all = true }, service_accounts = { "+accounts+" } } }\n", on), bundle, target("", "fleet_bundle.one.bundles"))
	}
	configure("required = true", bundle)
	w.fail(t, []string{"plan", "-input=false"}, "policy accounts (service_accounts) refuses", "the deployment has no service account")
	configure("required = true, default = \""+s.namespace+"\"", stray)
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "the cluster denies the request", "system:serviceaccount:cattle-fleet-system:"+s.namespace)
	configure("required = true, default = \""+s.namespace+"\"", bundle)
	w.apply(t)
	s.expectReleases(t, 0, "one")
	w.expectEmptyPlan(t)
}

// Where Fleet's Policy requires a service account, a deployment does not create its namespace.
func TestAccPolicyOfNewNamespaces(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	s.makeAccount(t, 0, s.namespace)
	configure := func(more string) {
		w.configure(t, s.provider("  fleet_policies = [\"{apiVersion: fleet.cattle.io/v1alpha1, kind: Policy, metadata: {name: p}, requireServiceAccount: true}\"]\n", on),
			strings.Replace(s.bundle("one", "x"), "files = ", more+"service_account = \""+s.namespace+"\"\n  files = ", 1), target("", "fleet_bundle.one.bundles"))
	}
	configure("create_namespace = true\n  ")
	w.fail(t, []string{"plan", "-input=false"}, "policy fleet_policies (allowNamespaceCreation) refuses", "set createNamespace to false")
	configure("")
	w.apply(t)
	s.expectReleases(t, 0, "one")
	w.expectEmptyPlan(t)
}

// The author of a repository tries to bypass the policies of the provider.
func TestAttackOnPolicies(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	const binding = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: NAME, annotations: {HOOK}}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}\n"
	of := func(hook string) string {
		return strings.NewReplacer("NAME", s.namespace, "HOOK", hook).Replace(binding)
	}
	definition := func(more string) string {
		return "defaultNamespace: " + s.namespace + "\nname: app\nhelm: {releaseName: app}\n" + more
	}
	attacks := map[string]struct {
		files map[string]string
		want  string
	}{
		"the namespace of one cluster": {
			files: map[string]string{"fleet.yaml": definition("targetCustomizations:\n- {name: a, clusterName: a, defaultNamespace: kube-system}\n"), "cm.yaml": configMap("one", "x")}, want: "the namespace kube-system",
		},
		"policies of its own":   {files: map[string]string{"fleet.yaml": definition("labels: {policies: none}\n"), "x.yaml": of("")}, want: "the kind is denied"},
		"a kind in a list":      {files: map[string]string{"fleet.yaml": definition(""), "x.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + of("")}, want: "the kind is denied"},
		"a hook":                {files: map[string]string{"fleet.yaml": definition(""), "x.yaml": of("helm.sh/hook: pre-install")}, want: "the kind is denied"},
		"a file below crds":     {files: map[string]string{"fleet.yaml": definition(""), "Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "crds/x.yaml": of("")}, want: "the kind is denied"},
		"an object's namespace": {files: map[string]string{"fleet.yaml": definition(""), "x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: kube-system}\n"}, want: "the namespace kube-system"},
	}
	number := 0
	for name, attack := range attacks {
		number++
		folder := fmt.Sprintf("repo%d", number)
		for file, content := range attack.files {
			w.write(t, folder+"/app/"+file, content)
		}
		w.configure(t, s.provider("  policies = { tenants = { applies_to = { all = true }, denied_kinds = [\"ClusterRoleBinding\"], namespaces = [\""+s.namespace+"\"] } }\n", on),
			strings.Replace(w.repository(), "/repo\"", "/"+folder+"\"", 1), target("", "fleet_gitrepo.all.bundles"))
		output := w.fail(t, []string{"plan", "-input=false"}, "policy tenants")
		if !strings.Contains(strings.Join(strings.Fields(output), " "), attack.want) {
			t.Errorf("%s: no %q in:\n%s", name, attack.want, output)
		}
	}
	s.expectNothing(t, 0)
}
