package acceptance_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// tenant is a fleet_gitrepo of a user who is trusted with one namespace.
func (s *fixture) tenant(git *gittest.Server, extra string) string {
	return fmt.Sprintf("resource \"fleet_gitrepo\" \"app\" {\n  name = \"app\"\n  repo = %q\n  branch = \"main\"\n  target_namespace = %q\n%s\n}\n", git.URL("tenant"), s.namespace, extra)
}

// The target binds a repository to one namespace, and nothing on the cluster does. A chart that
// names another namespace, in any part of it, changes nothing there.
func TestAttackChartLeavesItsNamespace(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	chart := func(files map[string]string) map[string]string {
		files["Chart.yaml"] = "apiVersion: v2\nname: app\nversion: 1.0.0\n"
		files["templates/cm.yaml"] = configMap("app", "x")
		return files
	}
	hooked := func(event string) func(out *outsider) map[string]string {
		return func(out *outsider) map[string]string {
			hook := strings.Replace(out.manifest(), "metadata:\n", "metadata:\n  annotations: { helm.sh/hook: "+event+", helm.sh/hook-delete-policy: before-hook-creation }\n", 1)
			return chart(map[string]string{"templates/hook.yaml": hook})
		}
	}
	tests := map[string]func(out *outsider) map[string]string{
		"a manifest": func(out *outsider) map[string]string { return map[string]string{"m.yaml": out.configMap("made")} },
		"a template": func(out *outsider) map[string]string {
			return chart(map[string]string{"templates/made.yaml": out.configMap("made")})
		},
		"an install hook": hooked("pre-install"),
		"a delete hook":   hooked("pre-delete"),
		"the folder crds": func(out *outsider) map[string]string {
			return chart(map[string]string{"crds/made.yaml": out.configMap("made")})
		},
		"a default in YAML": func(out *outsider) map[string]string {
			return map[string]string{"m.yaml": configMap("app", "x"), "fleet.yaml": "namespace: " + out.namespace + "\ntargetCustomizations:\n- { name: all, clusterSelector: {}, namespace: " + out.namespace + " }\n"}
		},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w, out := newFixture(t, env), newWorkspace(t), newOutsider(t, env, nil)
			git := gittest.New(t, gittest.Options{})
			if _, err := git.Commit(t.Context(), "tenant", "main", "Attack", files(out)); err != nil {
				t.Fatal(err)
			}
			w.configure(t, s.provider("", on), s.tenant(git, ""), target("", "fleet_gitrepo.app.bundles"))
			w.applyOutput(t)
			out.expectUntouched(t, "apply")
			w.destroyOutput(t)
			out.expectUntouched(t, "destroy")
		})
	}
}

// A service account in the repository does not replace the service account that confines the
// repository.
func TestAttackRepositoryChoosesItsAccount(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for name, descriptor := range map[string]string{
		"for all clusters": "serviceAccount: ACCOUNT\n",
		"for some":         "targetCustomizations:\n- { name: all, clusterSelector: {}, serviceAccount: ACCOUNT }\n",
		"for one":          "targetCustomizations:\n- { name: all, clusterName: a, serviceAccount: ACCOUNT }\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w, out := newFixture(t, env), newWorkspace(t), newOutsider(t, env, nil)
			s.makeAccount(t, 0, s.namespace)
			admin := s.makeAdmin(t)
			git := gittest.New(t, gittest.Options{})
			files := map[string]string{
				"m.yaml":     configMap("app", "x") + out.configMap("made"),
				"fleet.yaml": "defaultNamespace: " + s.namespace + "\n" + strings.ReplaceAll(descriptor, "ACCOUNT", admin),
			}
			if _, err := git.Commit(t.Context(), "tenant", "main", "Attack", files); err != nil {
				t.Fatal(err)
			}
			confined := strings.Replace(s.tenant(git, ""), "target_namespace", "service_account", 1) // Both have the same name.
			w.configure(t, s.provider("", on), confined, target("", "fleet_gitrepo.app.bundles"))
			w.applyOutput(t)
			out.expectUntouched(t, "apply")
			w.destroyOutput(t)
			out.expectUntouched(t, "destroy")
		})
	}
}

// A repository may read on a cluster what its service account may read. A Secret of another
// namespace is neither in its objects nor in plan and state.
func TestAttackRepositoryReadsSecrets(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	const secret = "swordfish-84736251"
	for name, attack := range map[string]struct{ data, descriptor string }{
		"lookup":         {data: `{{ (lookup "v1" "Secret" "ELSEWHERE" "treasure").data | default dict | toJson | quote }}`},
		"lookup of all":  {data: `{{ (lookup "v1" "Secret" "ELSEWHERE" "").items | default list | toJson | quote }}`},
		"values":         {data: `{{ .Values.word | quote }}`, descriptor: "helm: { valuesFrom: [{ secretKeyRef: { name: treasure, namespace: ELSEWHERE, key: values.yaml } }] }\n"},
		"cluster values": {data: `{{ .Values | toJson | quote }}`, descriptor: "targetCustomizations:\n- { name: all, clusterSelector: {}, helm: { valuesFrom: [{ secretKeyRef: { name: treasure, namespace: ELSEWHERE, key: values.yaml } }] } }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w, out := newFixture(t, env), newWorkspace(t), newOutsider(t, env, nil)
			s.makeAccount(t, 0, s.namespace)
			treasure := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "treasure"}, StringData: map[string]string{"values.yaml": "word: " + secret + "\n"}}
			if _, err := out.client(t, 0).CoreV1().Secrets(out.namespace).Create(t.Context(), treasure, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			git := gittest.New(t, gittest.Options{})
			files := map[string]string{
				"Chart.yaml":        "apiVersion: v2\nname: app\nversion: 1.0.0\n",
				"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  key: " + attack.data + "\n",
				"fleet.yaml":        "defaultNamespace: " + s.namespace + "\n" + attack.descriptor,
			}
			for name, content := range files {
				files[name] = strings.ReplaceAll(content, "ELSEWHERE", out.namespace)
			}
			if _, err := git.Commit(t.Context(), "tenant", "main", "Attack", files); err != nil {
				t.Fatal(err)
			}
			w.configure(t, s.provider("", on), s.tenant(git, fmt.Sprintf("  service_account = %q", s.namespace)), target("diff = \"rendered\"", "fleet_gitrepo.app.bundles"))
			plan, err := w.try(t, "plan", "-input=false")
			if err != nil {
				t.Logf("terraform plan: %v\n%s", err, plan)
			}
			seen := plan + w.applyOutput(t)
			if object, err := s.client(t, 0).CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "app", metav1.GetOptions{}); err == nil {
				seen += object.Data["key"]
			}
			if state, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate")); err == nil {
				seen += string(state)
			}
			for _, text := range []string{secret, base64.StdEncoding.EncodeToString([]byte("word: " + secret + "\n"))} {
				if strings.Contains(seen, text) {
					t.Errorf("the Secret of another namespace can be read as %q:\n%s", text, seen)
				}
			}
			w.destroyOutput(t)
		})
	}
}

// A repository cannot consent in place of the target: helm.takeOwnership takes over no release of
// another owner.
func TestAttackRepositoryConsents(t *testing.T) {
	t.Parallel()
	s, first, second := newFixture(t, testenv.Shared(t)), newWorkspace(t), newWorkspace(t)
	first.configure(t, s.provider("", on), s.bundle("app", "theirs"), target("", "fleet_bundle.app.bundles"))
	first.apply(t)
	before := s.releases(t, 0)
	git := gittest.New(t, gittest.Options{})
	files := map[string]string{"m.yaml": configMap("app", "mine"), "fleet.yaml": "helm: { releaseName: app, takeOwnership: true }\n"}
	if _, err := git.Commit(t.Context(), "tenant", "main", "Attack", files); err != nil {
		t.Fatal(err)
	}
	provider := strings.Replace(s.provider("", on), fmt.Sprintf("owner = %q", s.namespace), "owner = \"somebody\"", 1)
	second.configure(t, provider, s.tenant(git, ""), target("", "fleet_gitrepo.app.bundles"))
	second.refuse(t, applying, "take_ownership")
	second.destroyOutput(t)
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("the release (-before +after):\n%s", diff)
	}
	if got := s.value(t, 0, "app"); got != "theirs" {
		t.Errorf("the object has %q", got)
	}
	first.expectEmptyPlan(t)
	first.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// makeAdmin makes a second account that may do everything everywhere, like the account of Fleet's
// agent.
func (s *fixture) makeAdmin(t *testing.T) string {
	t.Helper()
	const agents = "cattle-fleet-system"
	client, name := s.client(t, 0), s.namespace+"-admin"
	account, err := client.CoreV1().ServiceAccounts(agents).Get(t.Context(), s.namespace, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	account.ObjectMeta = metav1.ObjectMeta{Name: name}
	if _, err := client.CoreV1().ServiceAccounts(agents).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: agents, Name: name}},
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := cleanupContext(t)
		defer cancel()
		if err := client.RbacV1().ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Logf("removing the binding of the test: %v", err)
		}
		if err := client.CoreV1().ServiceAccounts(agents).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Logf("removing the account of the test: %v", err)
		}
	})
	return name
}

// A cluster reports the identity of another cluster. Only its own deployments fail: those of the
// other cluster are written and removed as planned.
func TestAttackClusterClaimsToBeAnother(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	var lying atomic.Bool
	identity := s.identity(t, 1)
	liar := s.newImpostor(t, 0, func(w http.ResponseWriter, request *http.Request) bool {
		if !lying.Load() || request.Method != http.MethodGet || request.URL.Path != "/api/v1/namespaces/kube-system" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, identity)
		return true
	})
	provider := s.clusters([]entry{liar.entry(s.env.Cluster(0).Token()), s.honest()})
	configure := func(value, rules string) {
		all := target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles")
		if rules != "" {
			all = strings.Replace(all, "{ cluster_selector = { match_labels = { on = \"yes\" } } }", rules, 1)
		}
		w.configure(t, provider, s.bundle("one", value), s.bundle("two", value), all)
	}
	configure("x", "")
	w.apply(t)
	lying.Store(true)
	before := s.releases(t, 0)
	configure("y", "")
	w.refuse(t, applying, "a/one")
	if got := s.value(t, 1, "one"); got != "y" {
		t.Errorf("the other cluster has %q, want y", got)
	}
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("the cluster that lies (-before +after):\n%s", diff)
	}
	configure("y", `{ cluster_name = "a" }`)
	w.refuse(t, applying, "a/one")
	s.expectNothing(t, 1)
	lying.Store(false)
	w.destroyOutput(t)
}
