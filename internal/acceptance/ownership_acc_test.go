package acceptance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// targetOf is a fleet_cluster_target of some name over the clusters with on=label.
func targetOf(name, label, extra string, bundles ...string) string {
	return fmt.Sprintf("resource \"fleet_cluster_target\" %q {\n  name = %q\n  bundles = [%s]\n  targets = [{ cluster_selector = { match_labels = { on = %q } } }]\n  allow_empty = true\n%s\n}\n",
		name, name, strings.Join(bundles, ", "), label, extra)
}

// Two workspaces use the same owner and target name. The second is refused, and the releases of the
// first stay as they are.
func TestAccSecondWorkspaceOfEqualNamesIsRefused(t *testing.T) {
	t.Parallel()
	s, first, second := newFixture(t, testenv.Shared(t)), newWorkspace(t), newWorkspace(t)
	config := []string{s.provider("", on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
	first.configure(t, config...)
	first.apply(t)
	before := s.releases(t, 0)

	second.configure(t, config...)
	for _, value := range []string{"x", "y"} {
		second.configure(t, config[0], s.bundle("one", value), s.bundle("two", value), target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
		second.fail(t, []string{"apply", "-auto-approve", "-input=false"},
			"1 releases of its owner and name already exist", "a: release one in namespace "+s.namespace, `id = "all"`, "take_ownership")
		if left := second.run(t, "state", "list"); strings.Contains(left, "fleet_cluster_target") {
			t.Errorf("the target is in the state:\n%s", left)
		}
	}
	second.run(t, "destroy", "-auto-approve")
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("the release of the first workspace was touched (-before +after):\n%s", diff)
	}
	first.expectEmptyPlan(t)
	first.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// The state is lost after an apply. A create stops and names the import that takes over the
// existing releases. Releases that are not wanted any more are removed then.
func TestAccLostStateIsImported(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	both := s.bundle("one", "x") + s.bundle("two", "x")
	w.configure(t, s.provider("", on), both, target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	w.apply(t)
	w.configure(t, s.provider("", on), both, target("", "fleet_bundle.one.bundles"))
	before := s.releases(t, 0)
	for _, state := range []string{"terraform.tfstate", "terraform.tfstate.backup"} {
		if err := os.RemoveAll(filepath.Join(w.dir, state)); err != nil {
			t.Fatal(err)
		}
	}
	plan := unwrapped(w.run(t, "plan", "-input=false"))
	for _, want := range []string{"releases of its owner and name already exist", "a: release two in namespace " + s.namespace, "import {"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan does not say %q:\n%s", want, plan)
		}
	}
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "2 releases of its owner and name already exist", "import {")
	w.configure(t, s.provider("", on), both, target("", "fleet_bundle.one.bundles"),
		"import {\n  to = fleet_cluster_target.all\n  id = \"all/a\"\n}\n")
	w.apply(t)
	s.expectReleases(t, 0, "one")
	if after := s.releases(t, 0); after["one"] != before["one"] {
		t.Errorf("the release that stays was %v and is %v", before["one"], after["one"])
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// moves are ways to move a release from one target to another in one apply.
func moves(s *fixture, loser, gainer, key string) map[string][2][]string {
	const first, both = "fleet_bundle.one.bundles", "fleet_bundle.one.bundles, fleet_bundle.two.bundles"
	loser, gainer = loser+"\n"+key, gainer+"\n"+key
	return map[string][2][]string{
		"a bundle": {
			{s.provider("", on), targetOf("loser", "yes", key, both), targetOf("gainer", "yes", key)},
			{s.provider("", on), targetOf("loser", "yes", loser, first), targetOf("gainer", "yes", gainer, "fleet_bundle.two.bundles")},
		},
		"a cluster": {
			{s.provider("", on), targetOf("loser", "yes", key, both), targetOf("gainer", "other", key, both)},
			{s.provider("", `on = "other"`), targetOf("loser", "yes", loser, both), targetOf("gainer", "other", gainer, both)},
		},
		"to a new target": {
			{s.provider("", on), targetOf("loser", "yes", key, both)},
			{s.provider("", on), targetOf("loser", "yes", loser, first), targetOf("gainer", "yes", gainer, "fleet_bundle.two.bundles")},
		},
	}
}

// A release moves from one target to another with the same adoption key, which is applied first.
// The release keeps its revision and its objects.
func TestAccReleaseMovesWithTheAdoptionKey(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for what := range moves(newFixture(t, env), "", "", "") {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			steps := moves(s, "depends_on = [fleet_cluster_target.gainer]", "", "adoption_key = \"only here\"")[what]
			bundles := s.bundle("one", "x") + s.bundle("two", "x")
			w.configure(t, append(steps[0], bundles)...)
			w.apply(t)
			made := s.releases(t, 0)
			w.configure(t, append(steps[1], bundles)...)
			w.apply(t)
			if diff := cmp.Diff(made, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
				t.Errorf("releases were touched (-before +after):\n%s", diff)
			}
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			s.expectNothing(t, 0)
		})
	}
}

// Without a key it is uninstalled and installed again, in one apply, and the plan reports it.
func TestAccReleaseMovesWithoutAKey(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for what := range moves(newFixture(t, env), "", "", "") {
		for _, order := range []string{"", "depends_on = [fleet_cluster_target.loser]"} {
			t.Run(what+" "+order, func(t *testing.T) {
				t.Parallel()
				s, w := newFixture(t, env), newWorkspace(t)
				steps := moves(s, "", order, "")[what]
				bundles := s.bundle("one", "x") + s.bundle("two", "x")
				w.configure(t, append(steps[0], bundles)...)
				w.apply(t)
				made := s.releases(t, 0)
				w.configure(t, append(steps[1], bundles)...)
				if plan := unwrapped(w.run(t, "plan", "-input=false")); !strings.Contains(plan, "uninstalled by other targets and installed again") {
					t.Errorf("the plan does not say that the release is installed again:\n%s", plan)
				}
				w.apply(t)
				s.expectReleases(t, 0, "one", "two")
				if after := s.releases(t, 0); after["two"] == made["two"] {
					t.Error("the release was not installed again")
				}
				w.expectEmptyPlan(t)
				w.run(t, "destroy", "-auto-approve")
				s.expectNothing(t, 0)
			})
		}
	}
}

// Two targets want one release: the plan is an error.
func TestAccTwoTargetsWantOneRelease(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	one := s.bundle("one", "x")
	const bundles = "fleet_bundle.one.bundles"
	w.configure(t, s.provider("", on), one, targetOf("left", "yes", "", bundles), targetOf("right", "yes", "", bundles))
	w.fail(t, []string{"plan", "-input=false"}, "want the same releases", "a/one: release "+s.namespace+"/one")

	renamed := strings.Replace(targetOf("right", "yes", "wait = false", bundles), `name = "right"`, `name = "left"`, 1)
	w.configure(t, s.provider("", on), one, targetOf("left", "yes", "", bundles), renamed)
	w.fail(t, []string{"plan", "-input=false"}, "Two targets have the name left")

	w.configure(t, s.provider("", on), one, targetOf("left", "yes", "count = 2", bundles))
	w.fail(t, []string{"plan", "-input=false"}, "Two targets have the name left")

	w.configure(t, s.provider("", on), one, targetOf("left", "yes", "", bundles), targetOf("right", "no", "", bundles))
	w.apply(t)
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// A killed apply has made a release and could not save it. The next refresh finds the release, and
// the plan reports what happens to it.
func TestAccReleaseUnknownToTheStateIsFound(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	one, two := s.bundle("one", "x"), s.bundle("two", "x")
	w.configure(t, s.provider("", on), one, target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	state, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	w.configure(t, s.provider("", on), one, two, target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	w.apply(t)
	before := s.releases(t, 0)
	w.write(t, "terraform.tfstate", string(state)) // As if the last apply had been killed.

	w.apply(t)
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("releases were touched (-before +after):\n%s", diff)
	}
	w.expectEmptyPlan(t)

	// A release that is not wanted is reported in every plan, and stays.
	w.write(t, "terraform.tfstate", string(state))
	w.configure(t, s.provider("", on), one, two, target("", "fleet_bundle.one.bundles"))
	for _, args := range [][]string{{"plan", "-input=false"}, {"apply", "-auto-approve", "-input=false"}, {"plan", "-destroy", "-input=false"}} {
		output := unwrapped(w.run(t, args...))
		for _, want := range []string{"releases with its id are not in its state", "a: release two in namespace " + s.namespace, "ConfigMap/" + s.namespace + "/two", "helm uninstall"} {
			if !strings.Contains(output, want) {
				t.Errorf("%s does not say %q:\n%s", args[0], want, output)
			}
		}
	}
	s.expectReleases(t, 0, "one", "two")
	// One solution is to deploy the bundle again.
	w.configure(t, s.provider("", on), one, two, target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	w.apply(t)
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("releases were touched (-before +after):\n%s", diff)
	}
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// The bundles of a replacement are not known while planning. The same apply still removes the
// releases that it does not want.
func TestAccReplacementWithUnknownBundlesRemovesWhatLeft(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	names := func(value string) string {
		return "resource \"terraform_data\" \"names\" {\n  input = " + value + "\n}\n"
	}
	bundles := fmt.Sprintf("resource \"fleet_bundle\" \"each\" {\n  for_each = toset([\"one\", \"two\"])\n  name = each.key\n  default_namespace = %q\n"+
		"  files = { \"m.yaml\" = \"apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: ${each.key}}\\n\" }\n}\n", s.namespace)
	const chosen = "[for name in terraform_data.names.output : fleet_bundle.each[name].bundles]"
	all := strings.Replace(target("", ""), "[]", chosen, 1)
	w.configure(t, s.provider("", on), bundles, names(`["one", "two"]`), all)
	w.apply(t)
	before := s.releases(t, 0)
	w.run(t, "taint", "fleet_cluster_target.all")
	w.configure(t, s.provider("", on), bundles, names(`["one"]`), all)
	w.apply(t)
	s.expectReleases(t, 0, "one")
	if after := s.releases(t, 0); after["one"] != before["one"] {
		t.Errorf("the release that stays was %v and is %v", before["one"], after["one"])
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// A target is replaced, after its state has moved to another place. In the usual order the
// replacement continues with the existing releases. With create_before_destroy it cannot be
// distinguished from a second state: it stops before its first write, until it may take over.
func TestAccReplacementAfterTheStateHasMoved(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for name, lifecycle := range map[string]string{"delete, then create": "", "create_before_destroy": "  lifecycle {\n    create_before_destroy = true\n  }\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, former, w := newFixture(t, env), newWorkspace(t), newWorkspace(t)
			config := func(extra string) []string {
				return []string{s.provider("", on), s.bundle("one", "x"), target(extra+lifecycle, "fleet_bundle.one.bundles")}
			}
			former.configure(t, config("")...)
			former.apply(t)
			before, objects := s.releases(t, 0), s.uids(t)
			state, err := os.ReadFile(filepath.Join(former.dir, "terraform.tfstate"))
			if err != nil {
				t.Fatal(err)
			}
			w.write(t, "terraform.tfstate", string(state))
			w.configure(t, config("")...)
			w.run(t, "taint", "fleet_cluster_target.all")
			if lifecycle != "" {
				for range 2 { // A second try changes no more.
					w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "already exist")
				}
				w.configure(t, config("take_ownership = true\n")...)
			}
			w.apply(t)
			// The new target cannot verify the record of the old one, so it writes a revision of its own.
			if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" && lifecycle == "" {
				t.Errorf("the release was touched (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(objects, s.uids(t)); diff != "" {
				t.Errorf("objects (-before +after):\n%s", diff)
			}
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			s.expectNothing(t, 0)
		})
	}
}
