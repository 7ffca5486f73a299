package acceptance_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// inventory is what must not change when only the state changes: releases with their revisions, and
// objects with their UIDs.
type inventory struct {
	releases []map[string]record
	objects  map[string]string
}

func (s *fixture) inventory(t *testing.T) inventory {
	t.Helper()
	return inventory{releases: []map[string]record{s.releases(t, 0), s.releases(t, 1)}, objects: s.uids(t)}
}

// expectInventory wants everything in before unchanged, except for the bundles that left.
func (s *fixture) expectInventory(t *testing.T, before inventory, left ...string) {
	t.Helper()
	now := s.inventory(t)
	want := inventory{objects: maps.Clone(before.objects)}
	for _, releases := range before.releases {
		releases = maps.Clone(releases)
		for _, bundle := range left {
			delete(releases, bundle)
		}
		want.releases = append(want.releases, releases)
	}
	maps.DeleteFunc(want.objects, func(key, _ string) bool {
		return slices.ContainsFunc(left, func(bundle string) bool { return strings.HasSuffix(key, bundle) })
	})
	if diff := cmp.Diff(want, now, cmp.AllowUnexported(inventory{}, record{})); diff != "" {
		t.Errorf("what stays was touched (-before +now):\n%s", diff)
	}
}

// No operation on the state deploys a wanted release again.
func TestAccStateOperations(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	const before = "adoption_key = \"only here\"\n  lifecycle {\n    create_before_destroy = true\n  }\n"
	tests := map[string]struct {
		// extra is in the target from the beginning.
		extra string
		do    func(t *testing.T, w *workspace, s *fixture, config func(extra string, bundles ...string) []string)
		// left are the bundles that are removed then.
		left []string
	}{
		"taint": {do: func(t *testing.T, w *workspace, _ *fixture, _ func(string, ...string) []string) {
			t.Helper()
			w.run(t, "taint", all)
			w.apply(t)
		}},
		"taint while a bundle leaves": {left: []string{"two"}, do: func(t *testing.T, w *workspace, _ *fixture, config func(string, ...string) []string) {
			t.Helper()
			w.run(t, "taint", all)
			w.configure(t, config("", "one")...)
			w.apply(t)
		}},
		"replace": {do: func(t *testing.T, w *workspace, _ *fixture, _ func(string, ...string) []string) {
			t.Helper()
			w.run(t, "apply", "-auto-approve", "-replace="+all)
		}},
		"replace, create before destroy": {extra: before, do: func(t *testing.T, w *workspace, _ *fixture, _ func(string, ...string) []string) {
			t.Helper()
			w.run(t, "apply", "-auto-approve", "-replace="+all)
		}},
		"taint, create before destroy": {extra: before, do: func(t *testing.T, w *workspace, _ *fixture, _ func(string, ...string) []string) {
			t.Helper()
			w.run(t, "taint", all)
			w.apply(t)
		}},
		"replace, create before destroy, while a bundle leaves": {extra: before, left: []string{"two"}, do: func(t *testing.T, w *workspace, _ *fixture, config func(string, ...string) []string) {
			t.Helper()
			w.configure(t, config(before, "one")...)
			w.run(t, "apply", "-auto-approve", "-replace="+all)
		}},
		"a target of the run": {left: []string{"two"}, do: func(t *testing.T, w *workspace, _ *fixture, config func(string, ...string) []string) {
			t.Helper()
			w.configure(t, config("", "one")...)
			w.run(t, "apply", "-auto-approve", "-target=fleet_bundle.one") // Touches no target.
			w.run(t, "apply", "-auto-approve", "-target="+all)
		}},
		"no refresh": {left: []string{"two"}, do: func(t *testing.T, w *workspace, _ *fixture, config func(string, ...string) []string) {
			t.Helper()
			w.run(t, "apply", "-auto-approve", "-refresh=false")
			w.configure(t, config("", "one")...)
			w.run(t, "apply", "-auto-approve", "-refresh=false")
		}},
		"only a refresh": {do: func(t *testing.T, w *workspace, _ *fixture, _ func(string, ...string) []string) {
			t.Helper()
			w.run(t, "apply", "-auto-approve", "-refresh-only")
		}},
		"another address": {do: func(t *testing.T, w *workspace, _ *fixture, config func(string, ...string) []string) {
			t.Helper()
			w.run(t, "state", "mv", all, "fleet_cluster_target.other")
			w.configure(t, readdressed(config("", "one", "two"), "other")...)
			w.expectEmptyPlan(t)
			w.run(t, "state", "mv", "fleet_cluster_target.other", all)
			w.configure(t, config("", "one", "two")...)
		}},
		"moved to another address": {do: func(t *testing.T, w *workspace, _ *fixture, config func(string, ...string) []string) {
			t.Helper()
			moved := "moved {\n  from = fleet_cluster_target.all\n  to   = fleet_cluster_target.other\n}\n"
			w.configure(t, append(readdressed(config("", "one", "two"), "other"), moved)...)
			w.apply(t)
			w.expectEmptyPlan(t)
		}},
		"removed and imported": {do: func(t *testing.T, w *workspace, s *fixture, config func(string, ...string) []string) {
			t.Helper()
			was := s.inventory(t)
			removed := "removed {\n  from = fleet_cluster_target.all\n  lifecycle {\n    destroy = false\n  }\n}\n"
			w.configure(t, append(config("", "one", "two")[:3], removed)...)
			w.apply(t)
			s.expectInventory(t, was)
			w.configure(t, config("", "one", "two")...)
			w.run(t, "import", all, "all")
			w.apply(t)
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s := newWorkspace(t), newFixture(t, env)
			config := func(extra string, bundles ...string) []string {
				for i := range bundles {
					bundles[i] = "fleet_bundle." + bundles[i] + ".bundles"
				}
				return []string{s.provider("", on, on), s.bundle("one", "x"), s.bundle("two", "x"), target(extra, bundles...)}
			}
			w.configure(t, config(test.extra, "one", "two")...)
			w.apply(t)
			was := s.inventory(t)
			if len(was.releases[0]) != 2 || len(was.objects) == 0 {
				t.Fatalf("nothing is there to be watched: %v", was)
			}
			test.do(t, w, s, config)
			s.expectInventory(t, was, test.left...)
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			for i := range 2 {
				s.expectNothing(t, i)
			}
		})
	}
}

// readdressed gives the target another address in Terraform.
func readdressed(config []string, name string) []string {
	for i := range config {
		config[i] = strings.Replace(config[i], `"fleet_cluster_target" "all"`, fmt.Sprintf("%q %q", "fleet_cluster_target", name), 1)
	}
	return config
}

// Targets of a count or a for_each get other keys. With moved blocks they are the same, and nothing
// is deployed again. Without them one target is destroyed and another created. This can need a
// second apply, because the new target does not take over what the former one still has.
func TestAccTargetsGetOtherKeys(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	// Each of them is a target for the cluster of the same name.
	each := func(keys ...string) string {
		return fmt.Sprintf("resource \"fleet_cluster_target\" \"each\" {\n  for_each = { %s }\n  name = each.value\n  bundles = [fleet_bundle.one.bundles]\n"+
			"  targets = [{ cluster_name = substr(each.value, 0, 1) }]\n}\n", strings.Join(keys, ", "))
	}
	counted := func(names ...string) string {
		return fmt.Sprintf("resource \"fleet_cluster_target\" \"each\" {\n  count = %d\n  name = [%s][count.index]\n  bundles = [fleet_bundle.one.bundles]\n"+
			"  targets = [{ cluster_name = substr([%[2]s][count.index], 0, 1) }]\n}\n", len(names), strings.Join(names, ", "))
	}
	moved := func(from, to string) string {
		return fmt.Sprintf("moved {\n  from = fleet_cluster_target.each[%s]\n  to   = fleet_cluster_target.each[%s]\n}\n", from, to)
	}
	for name, test := range map[string]struct {
		before, after string
		again         bool // deployed again
	}{
		"a key is renamed, with a moved block":    {before: each(`x = "a"`, `y = "b"`), after: each(`z = "a"`, `y = "b"`) + moved(`"x"`, `"z"`)},
		"a key is renamed, the same name":         {before: each(`x = "a"`, `y = "b"`), after: each(`z = "a"`, `y = "b"`), again: true},
		"a key is renamed, and the name with it":  {before: each(`x = "a"`, `y = "b"`), after: each(`z = "a2"`, `y = "b"`), again: true},
		"indices are exchanged, with moved names": {before: counted(`"a"`, `"b"`), after: counted(`"b"`, `"a"`), again: true},
		"from count to for_each, with moved":      {before: counted(`"a"`, `"b"`), after: each(`x = "a"`, `y = "b"`) + moved(`0`, `"x"`) + moved(`1`, `"y"`)},
		"from count to for_each, without":         {before: counted(`"a"`, `"b"`), after: each(`x = "a"`, `y = "b"`), again: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s := newWorkspace(t), newFixture(t, env)
			w.configure(t, s.provider("", on, on), s.bundle("one", "x"), test.before)
			w.apply(t)
			was := s.inventory(t)
			w.configure(t, s.provider("", on, on), s.bundle("one", "x"), test.after)
			if test.again {
				if output, err := w.try(t, "apply", "-auto-approve", "-input=false"); err != nil {
					if !strings.Contains(unwrapped(output), "of its owner and name already exist") {
						t.Fatalf("the apply fails otherwise than for what the former target still has:\n%s", output)
					}
					w.apply(t)
				}
				for i := range 2 {
					s.expectReleases(t, i, "one")
				}
			} else {
				w.apply(t)
				s.expectInventory(t, was)
			}
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			for i := range 2 {
				s.expectNothing(t, i)
			}
		})
	}
}
