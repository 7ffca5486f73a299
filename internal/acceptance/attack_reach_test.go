package acceptance_test

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// reach is a test of what a repository or a record reaches. The provider is an administrator of the
// cluster, and a proxy records its requests.
type reach struct {
	*gate

	w   *workspace
	git *gittest.Server
	// out are objects in another namespace and of the whole cluster.
	out *victims
}

func newReach(t *testing.T, env *testenv.Env) *reach {
	t.Helper()
	r := &reach{gate: newGate(t, 1), w: newWorkspace(t), git: gittest.New(t, gittest.Options{}), out: newVictims(t, env)}
	token := env.Cluster(0).Token()
	if token == "" {
		t.Skip("the cluster of this context is not reached by a token")
	}
	if err := os.WriteFile(filepath.Join(r.tokens, "0"), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	r.w.patience = 2 * time.Minute
	r.namespaced(t, 0)
	r.record()
	return r
}

// victims are a config map, its namespace and a binding, which no release owns.
type victims struct {
	*outsider

	space, binding types.UID
}

func newVictims(t *testing.T, env *testenv.Env) *victims {
	t.Helper()
	v := &victims{outsider: newOutsider(t, env, nil)}
	client := v.client(t, 0)
	space, err := client.CoreV1().Namespaces().Get(t.Context(), v.namespace, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	binding, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: v.namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v.space, v.binding = space.UID, binding.UID
	t.Cleanup(func() { v.deleteBinding(t, v.namespace) })
	return v
}

// deleteBinding deletes a binding if it is there.
func (s *fixture) deleteBinding(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := cleanupContext(t)
	defer cancel()
	if err := s.client(t, 0).RbacV1().ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Logf("removing a binding of the test: %v", err)
	}
}

// named are the victims as JSON, as an attacker names them.
func (v *victims) named() []string {
	return []string{
		fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"victim","namespace":%q}}`, v.namespace),
		fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":%q},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}}`, v.namespace),
		fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, v.namespace),
	}
}

// items are the victims as items that make no list: the last of them is no object.
func (v *victims) items() string { return "[" + strings.Join(v.named(), ", ") + ", null]" }

// expectUntouched wants the same three objects, and none beside the config map.
func (v *victims) expectUntouched(t *testing.T, after string) {
	t.Helper()
	client := v.client(t, 0)
	space, err := client.CoreV1().Namespaces().Get(t.Context(), v.namespace, metav1.GetOptions{})
	if err != nil || space.UID != v.space || space.DeletionTimestamp != nil {
		t.Errorf("%s: the victim Namespace %s was deleted (%v)", after, v.namespace, err)
	}
	binding, err := client.RbacV1().ClusterRoleBindings().Get(t.Context(), v.namespace, metav1.GetOptions{})
	if err != nil || binding.UID != v.binding {
		t.Errorf("%s: the victim ClusterRoleBinding %s was deleted (%v)", after, v.namespace, err)
	}
	v.outsider.expectUntouched(t, after)
}

// expectWithin wants no write outside of the namespace of the test since the last record.
func (r *reach) expectWithin(t *testing.T, after string) {
	t.Helper()
	if outside := r.writes(func(call faulttest.Call) bool { return !isWithin(call, r.namespace) }); len(outside) > 0 {
		t.Errorf("%s: the provider wrote outside of namespace %s:\n%s", after, r.namespace, strings.Join(outside, "\n"))
	}
}

// expectNoWrites wants no write at all since the last record.
func (r *reach) expectNoWrites(t *testing.T, after string) {
	t.Helper()
	if written := r.writes(func(faulttest.Call) bool { return true }); len(written) > 0 {
		t.Errorf("%s: the provider wrote:\n%s", after, strings.Join(written, "\n"))
	}
}

// writes are the requests since the last record that changed something.
func (r *reach) writes(counts func(faulttest.Call) bool) []string {
	var found []string
	for _, call := range slices.Concat(r.recorded()...) {
		if isEffective(call) && counts(call) {
			found = append(found, call.String())
		}
	}
	return found
}

// isEffective reports whether a request changed something.
func isEffective(call faulttest.Call) bool {
	const refused = 400
	if call.Reads() || call.Verb == "watch" || call.Status == 0 || call.Status >= refused || strings.Contains(call.URL, "dryRun=All") {
		return false
	}
	return !strings.Contains(call.URL, "/apis/authorization.k8s.io/") && !strings.Contains(call.URL, "/apis/authentication.k8s.io/")
}

// isWithin reports whether a request is to a namespace or to its objects.
func isWithin(call faulttest.Call, namespace string) bool {
	address, err := url.Parse(call.URL)
	if err != nil {
		return false
	}
	return strings.Contains(address.Path+"/", "/namespaces/"+namespace+"/")
}

// confinement is a way to restrict what a repository reaches.
type confinement struct {
	// settings are attributes of the fleet_gitrepo, target those of the target, and policies those
	// of the provider.
	settings, target, policies string
	// hasAccount is true if an account with rights in one namespace writes.
	hasAccount bool
}

// confinements are the ways that a platform team has. NAMESPACE is that of the test.
func confinements() map[string]confinement {
	return map[string]confinement{
		"by its namespace": {settings: "  target_namespace = \"NAMESPACE\"\n"},
		"by an account":    {settings: "  target_namespace = \"NAMESPACE\"\n  service_account = \"NAMESPACE\"\n", hasAccount: true},
		"by policies": {policies: "  policies = { tenants = { applies_to = { all = true }, namespaces = [\"NAMESPACE\"], cluster_scoped = false, " +
			"denied_kinds = [\"ClusterRoleBinding\", \"Namespace\", \"NetworkPolicy\"] } }\n"},
	}
}

// commit makes a commit with a folder for each bundle. NAMESPACE and ELSEWHERE in files are the
// namespace of the test and that of the victims.
func (r *reach) commit(t *testing.T, bundles map[string]map[string]string) {
	t.Helper()
	files := map[string]string{}
	replace := strings.NewReplacer("NAMESPACE", r.namespace, "ELSEWHERE", r.out.namespace)
	for name, held := range bundles {
		files[name+"/fleet.yaml"] = fmt.Sprintf("name: %[1]s\ndefaultNamespace: %[2]s\ncreateNamespace: false\nhelm: {releaseName: %[1]s}\n", name, r.namespace)
		for path, content := range held {
			files[name+"/"+path] = replace.Replace(content)
		}
	}
	if _, err := r.git.Commit(t.Context(), "tenant", "main", "Attack", files); err != nil {
		t.Fatal(err)
	}
}

// configure writes the configuration of a platform team that delivers the repository.
func (r *reach) configure(t *testing.T, c confinement, settings string) {
	t.Helper()
	replace := strings.NewReplacer("NAMESPACE", r.namespace)
	repository := fmt.Sprintf("resource \"fleet_gitrepo\" \"app\" {\n  name = \"app\"\n  repo = %q\n  branch = \"main\"\n%s}\n", r.git.URL("tenant"), replace.Replace(c.settings))
	r.w.configure(t, r.provider(replace.Replace(c.policies), on), repository, target("deployment_timeout = \"20s\"\n  "+settings, "fleet_gitrepo.app.bundles"))
}

// chartWith are the files of a chart with a config map and more files.
func chartWith(name string, more map[string]string) map[string]string {
	files := map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n",
		"templates/cm.yaml": configMap(name, "x"),
	}
	maps.Copy(files, more)
	return files
}

// seeObjects plans and returns the output, with the objects that the plan names for each deployment.
// The plan is saved as tfplan.
func (w *workspace) seeObjects(t *testing.T) (output string, objects map[string][]string, err error) {
	t.Helper()
	if output, err = w.try(t, "plan", "-input=false", "-out=tfplan"); err != nil {
		return output, nil, err
	}
	objects = map[string][]string{}
	for _, of := range w.planned(t, "tfplan") {
		for _, key := range slices.Sorted(maps.Keys(of.Objects)) {
			deployment, object, _ := strings.Cut(key, " ")
			objects[deployment] = append(objects[deployment], object)
		}
	}
	return output, objects, nil
}

// attempt runs a command and reports whether it succeeded. It logs the output if it did not.
func (w *workspace) attempt(t *testing.T, args ...string) (output string, ok bool) {
	t.Helper()
	output, err := w.try(t, args...)
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended) && !ended.Exited():
		t.Errorf("terraform %s did not come to an end:\n%s", strings.Join(args, " "), output)
	case err != nil:
		t.Logf("terraform %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output, err == nil
}

// errorsIn is an output from its first error on. A plan that fails also shows what it would do.
func errorsIn(output string) string {
	_, text, _ := strings.Cut(output, "Error:")
	return text
}

// destroying is a destroy without a question.
func destroying(more ...string) []string {
	return append([]string{"destroy", "-auto-approve", "-input=false"}, more...)
}

// uidOf is the UID of a config map on the first cluster, "" if it is not there.
func (s *fixture) uidOf(t *testing.T, name string) types.UID {
	t.Helper()
	found, err := s.client(t, 0).CoreV1().ConfigMaps(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return found.UID
}

// makeConfigMap makes a config map on the first cluster that no release owns, or that another one
// owns.
func (s *fixture) makeConfigMap(t *testing.T, name, release string) types.UID {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"key": "theirs"}}
	if release != "" {
		object.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
		object.Annotations = map[string]string{"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": s.namespace}
	}
	made, err := s.client(t, 0).CoreV1().ConfigMaps(s.namespace).Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.UID
}
