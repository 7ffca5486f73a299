package acceptance_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The hooks of a forged record claim objects of others. No later hook replaces them, and no removal
// runs them.
func TestAttackForgedRecordClaimsHooks(t *testing.T) {
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
			r.expectForgedHooksClaimNothing(t, how)
		})
	}
}

// expectForgedHooksClaimNothing upgrades and removes a release whose record has hooks of a forger.
func (r *reach) expectForgedHooksClaimNothing(t *testing.T, how confinement) {
	t.Helper()
	f := newForger(t, r.fixture)
	uid := r.makeConfigMap(t, "theirs", "")
	commit := func(value string, hooks ...string) {
		files := map[string]string{"m.yaml": configMap("app", value)}
		for i, hook := range hooks {
			files["hook"+strconv.Itoa(i)+".yaml"] = hook
		}
		r.commit(t, map[string]map[string]string{"app": files})
	}
	commit("1", hookOf("hook", "", "pre-install,pre-upgrade", "", ""))
	r.configure(t, how, "")
	r.w.apply(t)
	f.forge(t, "app", func(content map[string]any) {
		hooks, _ := content["hooks"].([]any)
		for name, manifest := range map[string]string{
			"theirs": hookOf("theirs", r.namespace, "pre-upgrade", "", ""), "victim": hookOf("victim", r.out.namespace, "pre-upgrade", "", ""),
		} {
			hooks = append(hooks, map[string]any{
				"name": name, "kind": "ConfigMap", "path": "app/templates/" + name + ".yaml", "manifest": manifest,
				"events": []string{"pre-upgrade", "pre-delete", "post-delete", "pre-rollback"}, "weight": 0, "delete_policies": []string{"before-hook-creation"},
			})
		}
		content["hooks"] = hooks
	}, nil)
	hooks := []string{hookOf("theirs", "", "pre-upgrade", "", "")}
	if how == (confinement{}) { // Otherwise the plan refuses to write there.
		hooks = append(hooks, hookOf("victim", r.out.namespace, "pre-upgrade", "", ""))
	}
	commit("2", hooks...)
	r.record()
	r.w.refuse(t, applying, "a/app")
	expectStays := func(after string) {
		t.Helper()
		if r.uidOf(t, "theirs") != uid {
			t.Errorf("%s: the ConfigMap of others was replaced", after)
		}
		r.out.expectUntouched(t, after)
		r.expectWithin(t, after)
	}
	expectStays("upgrade")
	commit("3")
	r.w.applyOutput(t)
	expectStays("upgrade without hooks")
	_, ok := r.w.attempt(t, destroying()...)
	r.expectKnown(t, "destroy", "app", ok)
	expectStays("destroy")
}

// The labels of a record claim that another owner, target or instance has it, or another tool. A
// removal removes the release all the same, or fails. It never forgets a release that runs.
func TestAttackForgedLabels(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	claims := map[string]map[string]string{
		"owner":     {"owner": "somebody"},
		"target":    {"target": "another", "instance": "ANOTHERINSTANCE"},
		"instance":  {"instance": "ANOTHERINSTANCE"},
		"no-owner":  {"owner": ""},
		"tool":      {"revision": "0"},
		"terms":     {"terms": "keep-resources"},
		"everybody": {"owner": "somebody", "target": "another", "instance": "ANOTHERINSTANCE", "adoption-key": "x"},
	}
	removals := map[string]func(t *testing.T, r *reach, parts []string) (ok bool){
		"destroy": func(t *testing.T, r *reach, _ []string) bool {
			t.Helper()
			_, ok := r.w.attempt(t, destroying()...)
			return ok
		},
		"destroy without refresh": func(t *testing.T, r *reach, _ []string) bool {
			t.Helper()
			_, ok := r.w.attempt(t, destroying("-refresh=false")...)
			return ok
		},
		"the cluster leaves": func(t *testing.T, r *reach, parts []string) bool {
			t.Helper()
			parts[0] = strings.Replace(parts[0], on, off, 1)
			r.w.configure(t, parts...)
			_, ok := r.w.attempt(t, applying...)
			return ok
		},
		"the bundles leave": func(t *testing.T, r *reach, parts []string) bool {
			t.Helper()
			r.w.configure(t, append(parts[:len(parts)-1:len(parts)-1], target("allow_empty = true"))...)
			_, ok := r.w.attempt(t, applying...)
			return ok
		},
	}
	for how := range confinements() {
		removals["destroy confined "+how] = removals["destroy"]
	}
	for name, remove := range removals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReach(t, env)
			f := newForger(t, r.fixture)
			confined := confinements()[strings.TrimPrefix(name, "destroy confined ")]
			if confined.hasAccount {
				r.makeAccount(t, 0, r.namespace)
			}
			parts, bundles := []string{r.under(confined, "")}, []string{}
			for claim := range claims {
				parts, bundles = append(parts, r.written(r.bundle(claim, "x"), confined)), append(bundles, "fleet_bundle."+claim+".bundles")
			}
			parts = append(parts, target("allow_empty = true", bundles...))
			r.w.configure(t, parts...)
			r.w.apply(t)
			for claim, labels := range claims {
				prefixed := map[string]string{}
				for label, value := range labels {
					prefixed[attackLabel+label] = value
				}
				f.forge(t, claim, nil, prefixed)
			}
			r.record()
			ok := remove(t, r, parts)
			r.expectWithin(t, name)
			for claim := range claims {
				r.expectKnown(t, name+", a record with another "+claim, claim, ok)
			}
		})
	}
}

// replays put an older record of ours back, with all of its labels.
func replays() map[string]func(t *testing.T, f *forger, older *corev1.Secret) {
	as := func(revision int) func(t *testing.T, f *forger, older *corev1.Secret) {
		return func(t *testing.T, f *forger, older *corev1.Secret) {
			t.Helper()
			forged := older.DeepCopy()
			forged.Name = fmt.Sprintf("sh.helm.release.v1.%s.v%d", older.Labels["name"], revision)
			forged.Labels["version"] = strconv.Itoa(revision)
			forged.Labels[attackLabel+"revision"] = strconv.Itoa(revision)
			forged.Data["release"] = withVersion(t, older.Data["release"], revision)
			f.put(t, forged)
		}
	}
	return map[string]func(t *testing.T, f *forger, older *corev1.Secret){
		"newest": func(t *testing.T, f *forger, older *corev1.Secret) {
			t.Helper()
			if err := f.secrets.Delete(t.Context(), "sh.helm.release.v1.newest.v2", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			f.put(t, older)
		},
		"replaced": as(2),
		"next":     as(3),
	}
}

// An older record of ours counts for nothing: a plan does not believe its digest, an apply does not
// believe its manifest, and a removal removes what runs. The deployments of a target differ in the
// revision that the record has.
func TestAttackReplayedRecord(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for action, test := range map[string]struct {
		value    string
		args     []string
		confined confinement
	}{
		"by its namespace":  {value: "older", args: applying, confined: confinements()["by its namespace"]},
		"by an account":     {value: "older", args: applying, confined: confinements()["by an account"]},
		"by policies":       {value: "older", args: applying, confined: confinements()["by policies"]},
		"the older content": {value: "older", args: applying},
		"the same content":  {value: "newer", args: applying},
		"newer content":     {value: "newest", args: applying},
		"without refresh":   {value: "older", args: append(slices.Clone(applying), "-refresh=false")},
		"destroy":           {value: "newer", args: destroying()},
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			r := newReach(t, env)
			f := newForger(t, r.fixture)
			if test.confined.hasAccount {
				r.makeAccount(t, 0, r.namespace)
			}
			configure := func(value string) {
				parts, bundles := []string{r.under(test.confined, "")}, []string{}
				for name := range replays() {
					manifest := configMap(name, value)
					if value != "older" {
						manifest += "---\n" + configMap(name+"-newer", value)
					}
					parts = append(parts, r.written(r.bundleOf(name, manifest), test.confined))
					bundles = append(bundles, "fleet_bundle."+name+".bundles")
				}
				r.w.configure(t, append(parts, target("deployment_timeout = \"20s\"", bundles...))...)
			}
			configure("older")
			r.w.apply(t)
			older := map[string]*corev1.Secret{}
			for name := range replays() {
				older[name] = f.record(t, name, 1)
			}
			configure("newer")
			r.w.apply(t)
			for name, put := range replays() {
				put(t, f, older[name])
			}
			configure(test.value)
			r.record()
			output, ok := r.w.attempt(t, test.args...)
			r.expectWithin(t, action)
			for name := range replays() {
				switch {
				case action == "destroy":
					r.expectKnown(t, action, name, ok)
					if isDone(output, ok, name) && r.isThere(t, name+"-newer") {
						t.Errorf("%s: ConfigMap %s-newer runs on, and the destroy reports no error", name, name)
					}
				case isDone(output, ok, name) && r.value(t, 0, name) != test.value:
					t.Errorf("%s: the apply of %s reports no error, and the object has %q", name, test.value, r.value(t, 0, name))
				case test.value != "older" && !r.isThere(t, name+"-newer"):
					t.Errorf("%s: an object was deleted by a record that does not have it", name)
				}
			}
			if action == "the same content" && !isNamed(unwrapped(output), "a/newest") {
				t.Errorf("nothing tells that the record is not the last one:\n%s", output)
			}
			_, ok = r.w.attempt(t, destroying()...)
			for name := range replays() {
				r.expectKnown(t, "destroy", name, ok)
			}
		})
	}
}
