package acceptance_test

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The author of a repository chooses the name and the labels of a bundle. A closed window that
// selects the bundle by what is deployed holds a commit that changes both.
func TestAttackWindowOfABundle(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	const prod = "labels: {tier: prod}\n"
	byLabel := closed(`, bundle_selector = { match_labels = { tier = "prod" } }`)
	for name, test := range map[string]struct {
		windows, before, after string
		// name is the name in fleet.yaml after the change.
		name string
	}{
		"other labels": {windows: byLabel, before: prod, after: "labels: {tier: dev}\n", name: "app"},
		"no labels":    {windows: byLabel, before: prod, name: "app"},
		"another name": {windows: closed(`, bundles = ["app"]`), name: "free"},
		"another name and other labels": {
			windows: byLabel, before: prod, after: "labels: {tier: dev}\n", name: "free",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReach(t, env)
			commit := func(name, value, labels string) {
				t.Helper()
				files := map[string]string{
					"fleet.yaml": "name: " + name + "\n" + labels + "defaultNamespace: " + r.namespace + "\nhelm: {releaseName: app}\n",
					"cm.yaml":    configMap("app", value),
				}
				if _, err := r.git.Commit(t.Context(), "tenant", "main", value, files); err != nil {
					t.Fatal(err)
				}
			}
			configure := func(windows string) {
				r.configure(t, confinement{policies: windows}, "")
			}
			commit("app", "reviewed", test.before)
			configure("")
			r.w.apply(t)
			commit(test.name, "pushed", test.after)
			configure(test.windows)
			r.record()
			output := r.w.applyOutput(t)
			r.expectNoWrites(t, "the window is closed")
			if !strings.Contains(unwrapped(output), "by window nightly") {
				t.Errorf("nothing tells that a window holds the change:\n%s", output)
			}
			if got := r.value(t, 0, "app"); got != "reviewed" {
				t.Errorf("the window is closed, and %q was deployed", got)
			}
			configure(opened)
			r.w.applyOutput(t)
			if got := r.value(t, 0, "app"); got != "pushed" {
				t.Errorf("the window is open, and the object has %q", got)
			}
		})
	}
}
