package provider_test

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

// Two workspaces use the same owner and target name. The second is refused, and what
// the first has stays as it is.
func TestAccSecondWorkspaceOfEqualNamesIsRefused(t *testing.T) {
	t.Parallel()
	s, first, second := newSite(t, testenv.Shared(t)), newWorkspace(t), newWorkspace(t)
	config := []string{s.provider("", on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
	first.configure(t, config...)
	first.apply(t)
	before := s.releases(t, 0)

	second.configure(t, config...)
	second.fail(t, []string{"apply", "-auto-approve", "-input=false"},
		fmt.Sprintf(`belongs to another target "all" of owner %q, which the state of this workspace does not know`, s.namespace), "take_ownership")
	second.configure(t, config[0], s.bundle("one", "y"), config[2])
	second.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "belongs to another target")
	second.run(t, "destroy", "-auto-approve")
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("the release of the first workspace was touched (-before +after):\n%s", diff)
	}
	first.expectEmptyPlan(t)
	first.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// The state is lost after an apply: the same workspace takes up what is there, and is
// told what it does not want any more.
func TestAccLostStateIsTakenUp(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, testenv.Shared(t)), newWorkspace(t)
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
	for _, want := range []string{"goes on with releases of this owner", "are left", "a: release two in namespace " + s.namespace} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan does not say %q:\n%s", want, plan)
		}
	}
	w.apply(t)
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("the releases were touched (-before +after):\n%s", diff)
	}
	w.expectEmptyPlan(t)
	w.configure(t, s.provider("", on), both, target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	w.apply(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// A bundle, or a cluster, goes from one target to another in one apply. The release
// keeps its revision and its objects, whichever target Terraform comes to first.
func TestAccHandOverBetweenTargets(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	const none, loserFirst, gainerFirst = "in no order", "the loser first", "the gainer first"
	for _, what := range []string{"a bundle", "a cluster", "all of a target", "to a new target"} {
		for _, order := range []string{none, loserFirst, gainerFirst} {
			t.Run(what+", "+order, func(t *testing.T) {
				t.Parallel()
				s, w := newSite(t, env), newWorkspace(t)
				one, two := s.bundle("one", "x"), s.bundle("two", "x")
				const first, both = "fleet_bundle.one.bundles", "fleet_bundle.one.bundles, fleet_bundle.two.bundles"
				after := map[string]string{gainerFirst: "depends_on = [fleet_cluster_target.gainer]"}[order]
				before := map[string]string{loserFirst: "depends_on = [fleet_cluster_target.loser]"}[order]
				var was, is []string
				switch what {
				case "a bundle":
					was = []string{s.provider("", on), targetOf("loser", "yes", "", both), targetOf("gainer", "yes", "")}
					is = []string{s.provider("", on), targetOf("loser", "yes", after, first), targetOf("gainer", "yes", before, "fleet_bundle.two.bundles")}
				case "a cluster":
					was = []string{s.provider("", on), targetOf("loser", "yes", "", both), targetOf("gainer", "other", "", both)}
					is = []string{s.provider("", `on = "other"`), targetOf("loser", "yes", after, both), targetOf("gainer", "other", before, both)}
				case "all of a target":
					was = []string{s.provider("", on), targetOf("loser", "yes", "", both), targetOf("gainer", "other", "")}
					is = []string{s.provider("", on), targetOf("gainer", "yes", "", both)}
				case "to a new target":
					was = []string{s.provider("", on), targetOf("loser", "yes", "", both)}
					is = []string{s.provider("", on), targetOf("loser", "yes", after, first), targetOf("gainer", "yes", before, "fleet_bundle.two.bundles")}
				}
				w.configure(t, append(was, one, two)...)
				w.apply(t)
				made := s.releases(t, 0)
				w.configure(t, append(is, one, two)...)
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
}

// Two targets want one release: nothing is begun.
func TestAccTwoTargetsWantOneRelease(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, testenv.Shared(t)), newWorkspace(t)
	one := s.bundle("one", "x")
	const bundles = "fleet_bundle.one.bundles"
	w.configure(t, s.provider("", on), one, targetOf("left", "yes", "", bundles), targetOf("right", "yes", "", bundles))
	w.fail(t, []string{"plan", "-input=false"}, "want the same releases", "a/one: release "+s.namespace+"/one")

	renamed := strings.Replace(targetOf("right", "yes", "wait = false", bundles), `name = "right"`, `name = "left"`, 1)
	w.configure(t, s.provider("", on), one, targetOf("left", "yes", "", bundles), renamed)
	w.fail(t, []string{"plan", "-input=false"}, "Two targets are called left")

	w.configure(t, s.provider("", on), one, targetOf("left", "yes", "", bundles), targetOf("right", "no", "", bundles))
	w.apply(t)
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// What a killed apply has made and could not save is found by the next refresh, and
// the plan says what becomes of it.
func TestAccReleaseUnknownToTheStateIsFound(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, testenv.Shared(t)), newWorkspace(t)
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

	w.write(t, "terraform.tfstate", string(state))
	w.configure(t, s.provider("", on), one, target("", "fleet_bundle.one.bundles"))
	if diff := cmp.Diff([]string{"- a/two"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	w.apply(t)
	s.expectReleases(t, 0, "one")
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// The bundles of a replacement are not known while planning. What it does not want is
// removed all the same, in that apply.
func TestAccReplacementWithUnknownBundlesRemovesWhatLeft(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, testenv.Shared(t)), newWorkspace(t)
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

// The state has moved to another place, and the target is replaced there: what is
// deployed stays. In the usual order the replacement goes on with it. With
// create_before_destroy it cannot be told from a second workspace and is refused,
// before anything was begun, until it is allowed to take over.
func TestAccReplacementAfterTheStateHasMoved(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for name, lifecycle := range map[string]string{"delete, then create": "", "create_before_destroy": "  lifecycle {\n    create_before_destroy = true\n  }\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, former, w := newSite(t, env), newWorkspace(t), newWorkspace(t)
			config := func(extra string) []string {
				return []string{s.provider("", on), s.bundle("one", "x"), target(extra+lifecycle, "fleet_bundle.one.bundles")}
			}
			former.configure(t, config("")...)
			former.apply(t)
			before := s.releases(t, 0)
			state, err := os.ReadFile(filepath.Join(former.dir, "terraform.tfstate"))
			if err != nil {
				t.Fatal(err)
			}
			w.write(t, "terraform.tfstate", string(state))
			w.configure(t, config("")...)
			w.run(t, "taint", "fleet_cluster_target.all")
			if lifecycle != "" {
				for range 2 { // Trying again makes it no worse.
					w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "belongs to another target")
				}
				w.configure(t, config("take_ownership = true\n")...)
			}
			w.apply(t)
			if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
				t.Errorf("the release was touched (-before +after):\n%s", diff)
			}
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			s.expectNothing(t, 0)
		})
	}
}
