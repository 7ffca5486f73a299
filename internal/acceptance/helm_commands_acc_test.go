package acceptance_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// Helm's own commands work on the releases of the provider, whose records have other text than
// Helm's own: lists are replaced by their members, except for a member that looks like a hook.
func TestAccHelmsCommands(t *testing.T) {
	t.Parallel()
	helm, err := testenv.HelmCLI(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	env := testenv.Shared(t)
	r := newReach(t, env)
	run := func(arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), helm, append(arguments, "--namespace", r.namespace, "--kubeconfig", env.Kubeconfig(), "--kube-context", env.Contexts()[0])...)
		command.Env = append(os.Environ(), "HOME="+t.TempDir())
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("helm %s: %v\n%s", strings.Join(arguments, " "), err, output)
		}
		return string(output)
	}
	members := []string{"first", "second", "marked"}
	for _, value := range []string{"one", "two"} {
		r.commit(t, map[string]map[string]string{"app": chartWith("app", map[string]string{
			"templates/list.yaml": "apiVersion: v1\nkind: List\nitems:\n" +
				"- {apiVersion: v1, kind: ConfigMap, metadata: {name: first}, data: {key: " + value + "}}\n" +
				"- {apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {key: \"" + value + "\"}}\n" +
				"- {apiVersion: v1, kind: ConfigMap, metadata: {name: marked, annotations: {helm.sh/hook: pre-delete}}, data: {key: " + value + "}}\n",
			"templates/odd.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\ndata: {key: \"" + value + "\", odd: \"a\\u0085---\\u0085b\\r\\n\"}\n",
		})})
		r.configure(t, confinement{}, "")
		r.w.apply(t)
	}
	members = append(members, "odd")
	expect := func(want string) {
		t.Helper()
		for _, name := range members {
			if got := r.value(t, 0, name); got != want {
				t.Errorf("%s has %q, want %q", name, got, want)
			}
		}
	}
	expect("two")
	release := strings.Fields(run("list", "--short"))
	if len(release) != 1 {
		t.Fatalf("helm list prints %q", release)
	}
	for _, name := range members {
		if manifest := run("get", "manifest", release[0]); !strings.Contains(manifest, name) {
			t.Errorf("helm get manifest prints no %s:\n%s", name, manifest)
		}
	}
	run("rollback", release[0], "1")
	expect("one")
	run("uninstall", release[0])
	for _, name := range members {
		if r.isThere(t, name) {
			t.Errorf("helm uninstall leaves %s", name)
		}
	}
	r.w.run(t, destroying()...)
	r.expectNothing(t, 0)
}
