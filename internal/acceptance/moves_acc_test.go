package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// movingBundle is a bundle of config maps. It depends on another bundle if one is given.
func (s *fixture) movingBundle(name, after string, broken bool, names ...string) string {
	var manifest strings.Builder
	for _, object := range names {
		manifest.WriteString("---\n" + configMap(object, "x"))
	}
	if broken {
		manifest.WriteString("---\napiVersion: v1\nkind: Service\nmetadata: {name: broken}\nspec: {ports: [{port: 0}]}\n")
	}
	text := s.bundleOf(name, manifest.String())
	if after == "" {
		return text
	}
	return strings.Replace(text, "files = ", fmt.Sprintf("depends_on_bundles = [{ name = %q }]\n  files = ", after), 1)
}

// configMapOwner is the UID of a config map of the test and the release that it names.
func (s *fixture) configMapOwner(t *testing.T, name string) (uid, release string) {
	t.Helper()
	found, err := s.client(t, 0).CoreV1().ConfigMaps(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Errorf("config map %s: %v", name, err)
		return "", ""
	}
	return string(found.UID), found.Annotations["meta.helm.sh/release-name"]
}

// An object that moves from one bundle of a target to another stays on its cluster. In one apply
// and in any order, the gaining release takes it over and the losing release leaves it. If the
// gaining deployment fails, the object stays, and the next apply moves it.
func TestAccObjectsMoveBetweenBundles(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	type bundles struct{ losing, gaining string } // "" for none
	tests := map[string]struct {
		// isNew is true if there is no gaining bundle before.
		isNew bool
		after func(s *fixture, broken bool) bundles
	}{
		"in no order": {after: func(s *fixture, broken bool) bundles {
			return bundles{s.movingBundle("losing", "", false, "one"), s.movingBundle("gaining", "", broken, "two", "moving")}
		}},
		"the losing one first": {after: func(s *fixture, broken bool) bundles {
			return bundles{s.movingBundle("losing", "", false, "one"), s.movingBundle("gaining", "losing", broken, "two", "moving")}
		}},
		"the gaining one first": {after: func(s *fixture, broken bool) bundles {
			return bundles{s.movingBundle("losing", "gaining", false, "one"), s.movingBundle("gaining", "", broken, "two", "moving")}
		}},
		"the losing one is removed": {after: func(s *fixture, broken bool) bundles {
			return bundles{"", s.movingBundle("gaining", "", broken, "two", "moving")}
		}},
		"the losing one is removed, the gaining one is new": {isNew: true, after: func(s *fixture, broken bool) bundles {
			return bundles{"", s.movingBundle("new", "", broken, "one", "moving")}
		}},
		"the gaining one is new": {isNew: true, after: func(s *fixture, broken bool) bundles {
			return bundles{s.movingBundle("losing", "", false, "one"), s.movingBundle("new", "losing", broken, "moving")}
		}},
	}
	for name, test := range tests {
		for _, fails := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the gain fails first: %t", name, fails), func(t *testing.T) {
				t.Parallel()
				if !fails && name != "in no order" { // The apply after the failure does the same.
					testenv.RequireSoak(t)
				}
				w, s := newWorkspace(t), newFixture(t, env)
				configure := func(of bundles) {
					var names, parts []string
					for _, text := range []string{of.losing, of.gaining} {
						if text != "" {
							parts = append(parts, text)
							names = append(names, "fleet_bundle."+strings.Split(text, `"`)[3]+".bundles")
						}
					}
					w.configure(t, append(parts, s.provider("", on), target("", names...))...)
				}
				had, gaining := bundles{s.movingBundle("losing", "", false, "one", "moving"), s.movingBundle("gaining", "", false, "two")}, "gaining"
				if test.isNew {
					had.gaining, gaining = "", "new"
				}
				configure(had)
				w.apply(t)
				before, _ := s.configMapOwner(t, "moving")

				if fails {
					configure(test.after(s, true))
					w.fail(t, applying, "spec.ports[0].port")
					if now, _ := s.configMapOwner(t, "moving"); now != before {
						t.Fatalf("after the failure the object has the UID %q, want %q", now, before)
					}
				}
				configure(test.after(s, false))
				output := w.run(t, applying...) // It prints the plan first.
				expectSays(t, output, "ConfigMap/"+s.namespace+"/moving moves from bundle losing to bundle "+gaining)
				if strings.Contains(output, "cannot take over") {
					t.Errorf("the plan says that the object is refused:\n%s", output)
				}
				if now, owner := s.configMapOwner(t, "moving"); now != before || owner != gaining {
					t.Errorf("the object has the UID %q, want %q, and is of release %q, want %q", now, before, owner, gaining)
				}
				w.expectEmptyPlan(t)
				w.run(t, "destroy", "-auto-approve")
				s.expectNothing(t, 0)
			})
		}
	}
}
