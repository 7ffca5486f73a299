package acceptance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// forger is a user who may only read and write Secrets, in the namespace of the test.
type forger struct {
	*fixture

	secrets typedcorev1.SecretInterface
}

func newForger(t *testing.T, s *fixture) *forger {
	t.Helper()
	client, meta := s.client(t, 0), metav1.ObjectMeta{Name: "forger"}
	if _, err := client.CoreV1().ServiceAccounts(s.namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"*"}}}}
	if _, err := client.RbacV1().Roles(s.namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.namespace, Name: meta.Name}},
	}
	if _, err := client.RbacV1().RoleBindings(s.namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := client.CoreV1().ServiceAccounts(s.namespace).CreateToken(t.Context(), meta.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(s.env.Cluster(0).RESTConfig())
	config.BearerToken = token.Status.Token
	limited, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	f := &forger{fixture: s, secrets: limited.CoreV1().Secrets(s.namespace)}
	eventually(t, "the forger may write Secrets", func(ctx context.Context) (bool, error) {
		_, err := f.secrets.List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	return f
}

// record reads a revision of a release.
func (f *forger) record(t *testing.T, name string, revision int) *corev1.Secret {
	t.Helper()
	record, err := f.secrets.Get(t.Context(), fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, revision), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// put writes a record, in place of the one with its name.
func (f *forger) put(t *testing.T, record *corev1.Secret) {
	t.Helper()
	forged := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: record.Name, Labels: record.Labels}, Type: record.Type, Data: record.Data}
	if err := f.secrets.Delete(t.Context(), record.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if _, err := f.secrets.Create(t.Context(), forged, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// forge changes the content and the labels of the newest record of a release.
func (f *forger) forge(t *testing.T, name string, change func(content map[string]any), labels map[string]string) {
	t.Helper()
	record := f.record(t, name, versionOf(t, f.newestRecord(t, 0, name)))
	if change != nil {
		var content map[string]any
		if err := json.Unmarshal(recorded(t, record.Data["release"]), &content); err != nil {
			t.Fatal(err)
		}
		change(content)
		record.Data["release"] = packed(t, content)
	}
	maps.Copy(record.Labels, labels)
	if _, err := f.secrets.Update(t.Context(), record, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// expectKnown wants a release to be known as long as its object runs: a command that leaves the
// object has to fail, and the state has to have the deployment.
func (r *reach) expectKnown(t *testing.T, after, name string, succeeded bool) {
	t.Helper()
	if !r.isThere(t, name) {
		return
	}
	if succeeded {
		t.Errorf("%s: ConfigMap %s/%s runs on, and the command reports success", after, r.namespace, name)
	}
	if !strings.Contains(r.w.managed(t), all) || !strings.Contains(string(r.w.storedState(t)), "a/"+name) {
		t.Errorf("%s: ConfigMap %s/%s runs on, and the state has forgotten it", after, r.namespace, name)
	}
}

// The manifest of a record is replaced by one object of the release with hidden items. A removal
// deletes none of them. The object of the release is removed, or an error reports why not.
func TestAttackForgedRecordHidesObjects(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	removals := map[string]struct {
		leaves bool
		args   []string
	}{
		"destroy":                 {args: destroying()},
		"destroy without refresh": {args: destroying("-refresh=false")},
		"the bundle leaves":       {leaves: true, args: applying},
	}
	hows := confinements()
	hows["by nothing"] = confinement{}
	for how, confined := range hows {
		for name, removal := range removals {
			if how != "by nothing" && name == "destroy without refresh" {
				continue
			}
			t.Run(name+" confined "+how, func(t *testing.T) {
				t.Parallel()
				if how != "by nothing" && name == "the bundle leaves" {
					testenv.RequireSoak(t)
				}
				r := newReach(t, env)
				if confined.hasAccount {
					r.makeAccount(t, 0, r.namespace)
				}
				f := newForger(t, r.fixture)
				names := []string{"app", "hidden", "joined", "spelled"}
				bundles := map[string]map[string]string{}
				for _, name := range names {
					bundles[name] = map[string]string{"cm.yaml": configMap(name, "x")}
				}
				r.commit(t, bundles)
				r.configure(t, confined, "")
				r.w.apply(t)
				object := func(name, more string) string {
					return "---\n# Source: " + name + "/templates/cm.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: " + r.namespace + "}\n" + more
				}
				one := func(name string) string {
					return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":%q}}`, name, r.namespace)
				}
				victims := strings.Join(r.out.named(), ", ")
				for name, manifest := range map[string]string{
					"app":     object("app", "items: "+r.out.items()+"\n"),
					"hidden":  object("hidden", "items: ["+one("hidden")+", {apiVersion: v1, kind: List, items: ["+victims+", null]}, x]\n"),
					"joined":  one("joined") + "\n" + strings.Join(r.out.named(), "\n"),
					"spelled": object("spelled", "Items: ["+victims+"]\n\"item\\u017f\": ["+victims+"]\n"),
				} {
					f.forge(t, name, func(content map[string]any) { content["manifest"] = manifest }, nil)
				}
				r.record()
				if removal.leaves {
					r.configure(t, confined, "allow_empty = true")
					r.w.write(t, "main.tf", strings.Replace(r.main(t), "bundles = [fleet_gitrepo.app.bundles]", "bundles = []", 1))
				}
				_, ok := r.w.attempt(t, removal.args...)
				r.out.expectUntouched(t, name)
				r.expectWithin(t, name)
				for _, name := range names {
					r.expectKnown(t, name, name, ok)
				}
				r.w.destroyOutput(t)
				r.out.expectUntouched(t, "destroy")
			})
		}
	}
}

// written returns a fleet_bundle that is confined. Its attribute for the namespace has another name
// than that of a fleet_gitrepo.
func (r *reach) written(bundle string, confined confinement) string {
	settings := strings.NewReplacer("target_namespace", "namespace", "NAMESPACE", r.namespace).Replace(confined.settings)
	return strings.Replace(bundle, "{\n", "{\n"+settings, 1)
}

// under returns the provider block with the policies of a confinement.
func (r *reach) under(confined confinement, rest string) string {
	return r.provider(strings.ReplaceAll(confined.policies+rest, "NAMESPACE", r.namespace), on)
}

// makeAdministrator gives the service account of makeAccount all rights on the cluster.
func (r *reach) makeAdministrator(t *testing.T, name string) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "cattle-fleet-system", Name: name}},
	}
	if _, err := r.client(t, 0).RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.deleteBinding(t, name) })
}

// main is the configuration.
func (r *reach) main(t *testing.T) string {
	t.Helper()
	return read(t, r.w.dir+"/main.tf")
}

// isDone reports whether a command has finished a deployment: the command succeeded, or its errors
// do not name the deployment.
func isDone(output string, succeeded bool, name string) bool {
	const stopped = "No deployment of this target was started"
	return succeeded || !strings.Contains(unwrapped(output), stopped) && !isNamed(unwrapped(errorsIn(output)), "a/"+name)
}

// The digest of the record is set to that of the next content. The next apply deploys the content
// all the same, or fails. Nothing is written while a window is closed. Two deployments differ in
// whether the manifest of the record is that of the next content too.
func TestAttackForgedDigest(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	names := []string{"labelled", "changed"}
	for name, test := range map[string]struct {
		windows, settings string
		args              []string
		// isSaved is true if the record is forged after the plan.
		isClosed, isSaved bool
		confined          confinement
	}{
		"plain":                        {args: applying},
		"by its namespace":             {args: applying, confined: confinements()["by its namespace"]},
		"by an account":                {args: applying, confined: confinements()["by an account"]},
		"by policies":                  {args: applying, confined: confinements()["by policies"]},
		"after the plan":               {args: []string{"apply", "-input=false", "tfplan"}, isSaved: true},
		"without refresh":              {args: append(slices.Clone(applying), "-refresh=false")},
		"drift of releases":            {args: applying, settings: "drift = \"release\""},
		"no drift":                     {args: applying, settings: "drift = \"none\""},
		"a closed window":              {args: applying, windows: closed(""), isClosed: true},
		"a window that corrects drift": {args: applying, windows: closed(", correct_drift = true"), isClosed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReach(t, env)
			f := newForger(t, r.fixture)
			if test.confined.hasAccount {
				r.makeAccount(t, 0, r.namespace)
			}
			configure := func(windows, value string) {
				r.w.configure(t, r.under(test.confined, windows),
					r.written(r.bundle(names[0], value), test.confined), r.written(r.bundle(names[1], value), test.confined),
					target(test.settings, "fleet_bundle.labelled.bundles", "fleet_bundle.changed.bundles"))
			}
			configure("", "next")
			r.w.apply(t)
			configure("", "first")
			r.w.apply(t)
			configure(test.windows, "next")
			if test.isSaved {
				r.w.run(t, "plan", "-input=false", "-out=tfplan")
			}
			for _, name := range names {
				f.forge(t, name, func(content map[string]any) {
					if name == "changed" {
						content["manifest"] = strings.ReplaceAll(content["manifest"].(string), "first", "next") //nolint:forcetypeassert // a panic fails the test
					}
				}, map[string]string{
					// The attacker reads the digest of the next content from an older record.
					attackLabel + "digest": f.record(t, name, 1).Labels[attackLabel+"digest"],
				})
			}
			r.record()
			output, ok := r.w.attempt(t, test.args...)
			if test.isClosed {
				r.expectNoWrites(t, "the window is closed")
				for _, name := range names {
					if got := r.value(t, 0, name); got != "first" {
						t.Errorf("%s: the window is closed, and %q was deployed", name, got)
					}
				}
				configure(opened, "next")
				output, ok = r.w.attempt(t, applying...)
			}
			for _, name := range names {
				if got := r.value(t, 0, name); isDone(output, ok, name) && got != "next" {
					t.Errorf("%s: the apply reports no error, and the object has %q", name, got)
				}
			}
			_, ok = r.w.attempt(t, destroying()...)
			for _, name := range names {
				r.expectKnown(t, "destroy", name, ok)
			}
		})
	}
}

// A forged manifest is the base of an upgrade. It claims that fields were deployed that others have
// added: an upgrade would remove them. It claims an object of another release too.
func TestAttackForgedBase(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for name, how := range map[string]struct {
		settings, bundle string
		confined         confinement
	}{
		"plain":            {},
		"by an account":    {confined: confinement{settings: "  service_account = \"NAMESPACE\"\n", hasAccount: true}},
		"by policies":      {confined: confinement{policies: "  policies = { tenants = { applies_to = { all = true }, namespaces = [\"NAMESPACE\", \"NAMESPACE-held\"], denied_kinds = [\"ClusterRoleBinding\"] } }\n"}},
		"atomic":           {bundle: "helm = { atomic = true }"},
		"without refresh":  {},
		"after the plan":   {},
		"an older one too": {settings: "max_history = 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReach(t, env)
			f, client := newForger(t, r.fixture), r.client(t, 0)
			space := r.namespace + "-held"
			t.Cleanup(func() { r.cleanUp(t, 0, space) })
			if how.confined.hasAccount {
				r.makeAccount(t, 0, r.namespace)
				r.makeAdministrator(t, r.namespace)
			}
			manifest := func(value string) string {
				return "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: " + space + "\n  annotations: {value: \"" + value + "\"}\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: robot\n  namespace: " + space +
					"\n  annotations: {value: \"" + value + "\"}\n---\n" + strings.Replace(configMap("held", value), "metadata:\n", "metadata:\n  namespace: "+space+"\n", 1) + "---\n" + configMap("app", value)
			}
			args := applying
			if name == "without refresh" {
				args = append(slices.Clone(applying), "-refresh=false")
			}
			configure := func(value, more string) {
				app := r.bundleOf("app", manifest(value)+more)
				if how.bundle != "" {
					app = with(app, how.bundle)
				}
				r.w.configure(t, r.under(how.confined, ""), r.written(app, how.confined),
					r.bundle("theirs", "theirs"), target(how.settings, "fleet_bundle.app.bundles", "fleet_bundle.theirs.bundles"))
			}
			configure("1", "")
			r.w.apply(t)
			// Administrators of the other namespace protect it.
			patch := func(text string) []byte { return []byte(text) }
			if _, err := client.CoreV1().Namespaces().Patch(t.Context(), space, types.MergePatchType, patch(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := client.CoreV1().ServiceAccounts(space).Patch(t.Context(), "robot", types.MergePatchType, patch(`{"imagePullSecrets":[{"name":"registry"}]}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := client.CoreV1().ConfigMaps(space).Patch(t.Context(), "held", types.MergePatchType, patch(`{"metadata":{"finalizers":["example.com/hold"]},"data":{"added":"by others"}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				ctx, cancel := cleanupContext(t)
				defer cancel()
				_, _ = client.CoreV1().ConfigMaps(space).Patch(ctx, "held", types.MergePatchType, patch(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			})
			forged := "---\n" + strings.NewReplacer(
				"  name: "+space+"\n  annotations", "  name: "+space+"\n  labels: {pod-security.kubernetes.io/enforce: restricted}\n  annotations",
				"kind: ServiceAccount\n", "kind: ServiceAccount\nimagePullSecrets: [{name: registry}]\n",
				"  name: held\n", "  name: held\n  finalizers: [example.com/hold]\n",
				"  namespace: "+space+"\n  name: held\n", "  namespace: "+space+"\n  finalizers: [example.com/hold]\n  name: held\n",
				"data:\n", "data:\n  added: by others\n",
			).Replace(manifest("1")) + "---\n" + configMap("theirs", "theirs")
			forge := func() {
				t.Helper()
				f.forge(t, "app", func(content map[string]any) { content["manifest"] = forged }, nil)
			}
			theirs := r.newestRecord(t, 0, "theirs").UID
			configure("2", "")
			var plan string
			if name == "after the plan" {
				plan, _ = r.w.attempt(t, "plan", "-input=false", "-out=tfplan")
				args = []string{"apply", "-input=false", "tfplan"}
				forge()
			} else {
				forge()
				plan, _ = r.w.attempt(t, "plan", "-input=false")
			}
			_, ok := r.w.attempt(t, args...)
			found, err := client.CoreV1().Namespaces().Get(t.Context(), space, metav1.GetOptions{})
			if err != nil || found.DeletionTimestamp != nil || found.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
				t.Errorf("the namespace has lost its label, or is deleted (%v): %v", err, found.Labels)
			}
			robot, err := client.CoreV1().ServiceAccounts(space).Get(t.Context(), "robot", metav1.GetOptions{})
			if err != nil || len(robot.ImagePullSecrets) != 1 {
				t.Errorf("the account has lost its imagePullSecrets (%v): %v", err, robot.ImagePullSecrets)
			}
			held, err := client.CoreV1().ConfigMaps(space).Get(t.Context(), "held", metav1.GetOptions{})
			if err != nil || len(held.Finalizers) != 1 || held.Data["added"] != "by others" {
				t.Errorf("the config map has lost what others added (%v): %v, %v", err, held.Finalizers, held.Data)
			}
			if got := r.value(t, 0, "app"); ok && got != "2" {
				t.Errorf("the apply reports success, and the object has %q", got)
			}
			if !ok && name == "plain" && strings.Contains(plan, "Plan: 0 to add") && !strings.Contains(unwrapped(plan), "take_ownership") {
				t.Errorf("the apply failed, and the plan did not say so:\n%s", plan)
			}

			// An object that another release has is not taken over.
			configure("3", "---\n"+configMap("theirs", "ours"))
			if name == "after the plan" {
				plan, _ = r.w.attempt(t, "plan", "-input=false", "-out=tfplan")
				forge()
			} else {
				forge()
				plan, _ = r.w.attempt(t, "plan", "-input=false")
			}
			output, ok := r.w.attempt(t, args...)
			if ok {
				t.Errorf("an object of another release is taken over:\n%s", output)
			}
			expectMention(t, plan+output, "theirs")
			if got := r.value(t, 0, "theirs"); got != "theirs" {
				t.Errorf("the object of another release has %q after a plan that said:\n%s", got, plan)
			}
			owner, err := client.CoreV1().ConfigMaps(r.namespace).Get(t.Context(), "theirs", metav1.GetOptions{})
			if err != nil || owner.Annotations["meta.helm.sh/release-name"] != "theirs" || r.newestRecord(t, 0, "theirs").UID != theirs {
				t.Errorf("the object of another release has another owner (%v): %v", err, owner.Annotations)
			}
			if _, err := client.CoreV1().ConfigMaps(space).Patch(t.Context(), "held", types.MergePatchType, patch(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			configure("3", "")
			r.w.destroyOutput(t)
		})
	}
}
