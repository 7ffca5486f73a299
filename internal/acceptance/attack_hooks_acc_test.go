package acceptance_test

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// hookOf is a config map that is a hook, with more annotations and more fields.
func hookOf(name, namespace, event, policy, more string) string {
	annotations := "helm.sh/hook: \"" + event + "\""
	if policy != "" {
		annotations += ", helm.sh/hook-delete-policy: \"" + policy + "\""
	}
	if namespace != "" {
		namespace = ", namespace: " + namespace
	}
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + namespace + ", annotations: {" + annotations + "}}\ndata: {key: ours}\n" + more
}

// A hook hides objects in items that are no list. Helm deletes what a hook names before it creates
// it. The plan is an error that names the file, and nothing of others is deleted.
func TestAttackHookHidesObjects(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	hows := confinements()
	hows["by nothing"] = confinement{}
	for name, how := range hows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReach(t, env)
			if how.hasAccount {
				r.makeAccount(t, 0, r.namespace)
			}
			named := strings.Join(r.out.named(), ", ")
			hooks := map[string]string{
				"nothing": hookOf("nothing", "", "pre-install", "", "items: ["+named+", null]\n"),
				"text":    hookOf("text", "", "pre-install,pre-upgrade", "before-hook-creation", "items: [x, "+named+"]\n"),
				"nested":  hookOf("nested", "", "post-install", "", "items: [{apiVersion: v1, kind: List, items: ["+named+", null]}, null]\n"),
				"list":    "apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/hook: pre-install}}\nitems: [" + named + ", 1]\n",
				"removal": hookOf("removal", "", "pre-delete", "", "items: ["+named+", null]\n"),
				"after":   hookOf("after", "", "post-install", "hook-succeeded", "items: ["+named+", null]\n"),
				"stream":  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"stream","annotations":{"helm.sh/hook":"pre-install"}}}` + strings.Join(r.out.named(), "\n"),
			}
			bundles, files := map[string]map[string]string{}, map[string]string{}
			for name, hook := range hooks {
				files[name] = "templates/" + name + ".yaml"
				bundles[name] = chartWith(name+"-beside", map[string]string{files[name]: hook})
			}
			r.commit(t, bundles)
			r.configure(t, how, "")
			expectMention(t, errorsIn(r.w.refuse(t, []string{"plan", "-input=false"})), slices.Sorted(maps.Values(files))...)
			r.expectNoWrites(t, "plan")
			r.w.attempt(t, applying...)
			r.expectNoWrites(t, "apply")
			r.out.expectUntouched(t, "apply")
			r.w.destroyOutput(t)
			r.out.expectUntouched(t, "destroy")
		})
	}
}

// A hook with the default policy names an object that exists. It replaces only what a record of its
// release has as a hook. Anything else is an error that names the object, which stays.
func TestAttackHookNamesAnObject(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	hows := confinements()
	hows["by nothing"] = confinement{}
	for name, how := range hows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReach(t, env)
			if how.hasAccount {
				r.makeAccount(t, 0, r.namespace)
			}
			r.expectHooksSpare(t, how)
		})
	}
}

// expectHooksSpare installs, upgrades and removes bundles whose hooks name objects of others.
func (r *reach) expectHooksSpare(t *testing.T, how confinement) {
	t.Helper()
	before := map[string]types.UID{
		"unowned":   r.makeConfigMap(t, "unowned", ""),
		"anothers":  r.makeConfigMap(t, "anothers", "somebody"),
		"succeeded": r.makeConfigMap(t, "succeeded", ""),
		"failed":    r.makeConfigMap(t, "failed", ""),
		"listed":    r.makeConfigMap(t, "listed", "somebody"),
		"upgraded":  r.makeConfigMap(t, "upgraded", "somebody"),
		"removed":   r.makeConfigMap(t, "removed", "somebody"),
		"cleared":   r.makeConfigMap(t, "cleared", ""),
	}
	hooks := map[string]string{
		"unowned":   hookOf("unowned", "", "pre-install", "", ""),
		"anothers":  hookOf("anothers", "", "post-install", "", ""),
		"succeeded": hookOf("succeeded", "", "pre-install", "before-hook-creation,hook-succeeded", ""),
		"failed":    hookOf("failed", "", "pre-install", "hook-failed,hook-succeeded", ""),
		"listed":    "apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/hook: pre-install}}\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: listed}}\n",
		"victim":    hookOf("victim", r.out.namespace, "pre-install", "", ""),
		"space":     "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + r.out.namespace + ", annotations: {helm.sh/hook: pre-install}}\n",
		"binding": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: " + r.out.namespace + ", annotations: {helm.sh/hook: pre-install}}\n" +
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\n",
		// They are installed, and fail in the next upgrade and in the removal.
		"upgraded": hookOf("upgraded", "", "pre-upgrade", "", ""),
		"removed":  hookOf("removed", "", "pre-delete", "", ""),
		"cleared":  hookOf("cleared", "", "post-delete", "before-hook-creation,hook-succeeded", ""),
	}
	if how != (confinement{}) { // The plan refuses to write there.
		for _, outside := range []string{"victim", "space", "binding"} {
			delete(hooks, outside)
		}
	}
	names := map[string]string{"victim": r.out.namespace + "/victim", "space": r.out.namespace, "binding": r.out.namespace}
	commit := func(value string) {
		bundles := map[string]map[string]string{}
		for name, hook := range hooks {
			bundles["b-"+name] = map[string]string{"m.yaml": configMap("b-"+name, value), "hook.yaml": hook}
		}
		r.commit(t, bundles)
	}
	expectStays := func(after string) {
		t.Helper()
		for name, uid := range before {
			if got := r.uidOf(t, name); got != uid {
				t.Errorf("%s: the hook replaced the ConfigMap %s of others", after, name)
			}
		}
		r.out.expectUntouched(t, after)
		r.expectWithin(t, after)
	}
	later := []string{"upgraded", "removed", "cleared"}

	commit("1")
	r.configure(t, how, "")
	plan, isPlanned := r.w.attempt(t, "plan", "-input=false")
	output, ok := r.w.attempt(t, applying...)
	if ok {
		t.Error("the apply has no error")
	}
	for name := range hooks {
		object := cmp.Or(names[name], r.namespace+"/"+name)
		if !isNamed(unwrapped(plan), object) {
			t.Errorf("the plan does not name the hook %s", object)
		}
		if !slices.Contains(later, name) && !isNamed(unwrapped(errorsIn(output)), object) {
			t.Errorf("the error of the apply does not name %s", object)
		}
	}
	expectStays("install")

	hooks = map[string]string{"upgraded": hooks["upgraded"], "removed": hooks["removed"], "cleared": hooks["cleared"]}
	if !isPlanned { // Nothing was deployed.
		commit("1")
		r.w.apply(t)
	}
	for _, name := range later {
		if r.uidOf(t, "b-"+name) == "" {
			t.Errorf("the bundle b-%s is not installed, and nothing is wrong with its installation", name)
		}
	}

	commit("2")
	r.configure(t, how, "")
	r.w.refuse(t, applying, r.namespace+"/upgraded")
	expectStays("upgrade")
	r.w.destroyOutput(t)
	expectStays("destroy")
}

// A hook that a record of the release has is replaced in each upgrade, as Helm does it, and so are
// the members of a list that is a hook. The plan names them.
func TestAttackNoneByHooksOfOurs(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	const events = "pre-install,pre-upgrade"
	hooks := []string{"hook", "first", "second"}
	for name, how := range map[string]confinement{"open": {}, "restricted": confinements()["by its namespace"]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReach(t, env)
			commit := func(value string) {
				replace := strings.NewReplacer("key: ours", "key: "+value)
				r.commit(t, map[string]map[string]string{"app": chartWith("app", map[string]string{
					"templates/value.yaml": configMap("value", value),
					"templates/hook.yaml":  replace.Replace(hookOf("hook", "", events, "", "")),
					"templates/gone.yaml":  replace.Replace(hookOf("gone", "", events, "before-hook-creation,hook-succeeded", "")),
					"templates/list.yaml": "apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/hook: \"" + events + "\"}}\nitems:\n" +
						"- {apiVersion: v1, kind: ConfigMap, metadata: {name: first}, data: {key: \"" + value + "\"}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {key: \"" + value + "\"}}\n",
				})})
			}
			commit("one")
			r.configure(t, how, "")
			plan := r.w.run(t, "plan", "-input=false")
			for _, name := range append([]string{"gone"}, hooks...) {
				if !isNamed(unwrapped(plan), name) {
					t.Errorf("the plan does not name the hook %s:\n%s", name, plan)
				}
			}
			r.w.apply(t)
			before := map[string]types.UID{}
			for _, name := range hooks {
				if before[name] = r.uidOf(t, name); before[name] == "" {
					t.Fatalf("the hook %s did not run", name)
				}
			}
			if r.uidOf(t, "gone") != "" {
				t.Error("a hook that succeeded is still there")
			}
			commit("two")
			r.w.apply(t)
			for _, name := range hooks {
				if got := r.uidOf(t, name); got == before[name] || r.value(t, 0, name) != "two" {
					t.Errorf("the hook %s was not replaced, and has %q", name, r.value(t, 0, name))
				}
			}
			r.w.expectEmptyPlan(t)
			r.expectWithin(t, "apply")
			r.w.run(t, destroying()...)
			r.expectNothing(t, 0)
			r.out.expectUntouched(t, "destroy")
		})
	}
}

// Somebody else makes an object with the name of a hook of ours after the hook was deleted. The next
// upgrade does not delete it.
func TestAttackHookWasExchanged(t *testing.T) {
	t.Parallel()
	r := newReach(t, testenv.Shared(t))
	commit := func(value string) {
		r.commit(t, map[string]map[string]string{"app": {"m.yaml": configMap("app", value), "hook.yaml": hookOf("hook", "", "pre-install,pre-upgrade", "", "")}})
	}
	commit("1")
	r.configure(t, confinement{}, "")
	r.w.apply(t)
	client := r.client(t, 0).CoreV1().ConfigMaps(r.namespace)
	if err := client.Delete(t.Context(), "hook", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	uid := r.makeConfigMap(t, "hook", "somebody")
	commit("2")
	r.w.refuse(t, applying, r.namespace+"/hook")
	if got := r.uidOf(t, "hook"); got != uid {
		t.Error("the object of another release was replaced")
	}
	r.w.destroyOutput(t)
	if _, err := client.Get(t.Context(), "hook", metav1.GetOptions{}); err != nil {
		t.Errorf("the object of another release was deleted: %v", err)
	}
}

// Every object is deleted with its UID as a precondition: hooks, what an upgrade drops, and what a
// removal deletes.
func TestAttackDeletionsHaveAPrecondition(t *testing.T) {
	t.Parallel()
	r := newReach(t, testenv.Shared(t))
	var (
		mu    sync.Mutex
		seen  int
		blind []string
	)
	r.proxies[0].Set(func(request *http.Request) faulttest.Fault {
		if request.Method == http.MethodDelete && !strings.Contains(request.URL.Path, "/secrets") {
			mu.Lock()
			defer mu.Unlock()
			seen++
			if !holdsUID(request) {
				blind = append(blind, request.URL.Path)
			}
		}
		return faulttest.Fault{}
	})
	commit := func(value string, more map[string]string) {
		files := chartWith("app", map[string]string{
			"templates/hook.yaml":    hookOf("hook", "", "pre-install,pre-upgrade", "", ""),
			"templates/gone.yaml":    hookOf("gone", "", "post-install,post-upgrade", "before-hook-creation,hook-succeeded", ""),
			"templates/removal.yaml": hookOf("removal", "", "pre-delete", "hook-succeeded", ""),
			"templates/value.yaml":   configMap("value", value),
		})
		maps.Copy(files, more)
		r.commit(t, map[string]map[string]string{"app": files})
	}
	commit("1", map[string]string{"templates/dropped.yaml": configMap("dropped", "1")})
	r.configure(t, confinement{}, "")
	r.w.apply(t)
	commit("2", nil)
	r.w.apply(t)
	r.w.run(t, destroying()...)
	r.expectNothing(t, 0)
	mu.Lock()
	defer mu.Unlock()
	if seen == 0 {
		t.Error("nothing was deleted")
	}
	for _, path := range blind {
		t.Errorf("deleted without the UID of an object: %s", path)
	}
}

// holdsUID reports whether the body of a request has a UID. It leaves the body as it was.
func holdsUID(request *http.Request) bool {
	if request.Body == nil {
		return false
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return false
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	return regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).Match(body)
}

// A hook of ours is exchanged for an object of others right before the provider deletes it. The
// object of others stays.
func TestAttackHookIsExchangedInBetween(t *testing.T) {
	t.Parallel()
	r := newReach(t, testenv.Shared(t))
	commit := func(value string) {
		r.commit(t, map[string]map[string]string{"app": {"m.yaml": configMap("app", value), "hook.yaml": hookOf("hook", "", "pre-install,pre-upgrade", "", "")}})
	}
	commit("1")
	r.configure(t, confinement{}, "")
	r.w.apply(t)
	var (
		once sync.Once
		uid  types.UID
	)
	r.proxies[0].Set(func(request *http.Request) faulttest.Fault {
		if request.Method != http.MethodDelete || !strings.HasSuffix(request.URL.Path, "/configmaps/hook") {
			return faulttest.Fault{}
		}
		return faulttest.Fault{Before: func(*http.Request) {
			once.Do(func() {
				if err := r.client(t, 0).CoreV1().ConfigMaps(r.namespace).Delete(t.Context(), "hook", metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
				uid = r.makeConfigMap(t, "hook", "")
			})
		}}
	})
	commit("2")
	r.w.attempt(t, applying...)
	if got := r.uidOf(t, "hook"); uid == "" || got != uid {
		t.Errorf("the object of others has the UID %q, want %q", got, uid)
	}
	r.proxies[0].Set(nil)
	r.w.destroyOutput(t)
	if got := r.uidOf(t, "hook"); got != uid {
		t.Error("the object of others was deleted by the destroy")
	}
}
