package acceptance_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

const on = `on = "yes"`

// A cluster is down during the first apply: the others are deployed and saved,
// Terraform taints the target, and the next apply deploys only what is missing.
func TestAccClusterDownDuringFirstApply(t *testing.T) {
	t.Parallel()
	env := testenv.New(t, 3)
	s, w := newFixture(t, env), newWorkspace(t)
	w.configure(t, s.provider("", on, on, on), s.bundle("one", "x"), s.bundle("two", "x"), target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))

	stop(t, env.Cluster(2))
	output := w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "c/one", "c/two", "does not respond")
	if count := strings.Count(output, "Error: "); count != 1 {
		t.Errorf("one cause made %d errors:\n%s", count, output)
	}
	want := map[string]string{"a/one": "Ready", "a/two": "Ready", "b/one": "Ready", "b/two": "Ready"}
	if diff := cmp.Diff(want, w.states(t)); diff != "" {
		t.Errorf("saved states (-want +got):\n%s", diff)
	}
	before := []map[string]record{s.releases(t, 0), s.releases(t, 1)}

	start(t, env.Cluster(2))
	if diff := cmp.Diff([]string{"+ c/one", "+ c/two"}, onlyAdded(w.plannedChanges(t))); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	w.run(t, "apply", "-input=false", "tfplan")
	s.expectReleases(t, 2, "one", "two")
	for i, records := range before {
		if diff := cmp.Diff(records, s.releases(t, i), cmp.AllowUnexported(record{})); diff != "" {
			t.Errorf("releases of a healthy cluster were touched (-before +after):\n%s", diff)
		}
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	for i := range 3 {
		s.expectNothing(t, i)
	}
}

// onlyAdded leaves out the deployments that a replacement shows as changed although they stay.
func onlyAdded(changes []string) []string {
	return slices.DeleteFunc(changes, func(change string) bool { return !strings.HasPrefix(change, "+") })
}

// The same failure, and then the failing cluster is removed from the rule: nothing is left on it
// and nothing is lost elsewhere.
func TestAccFailingClusterTakenOut(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"delete, then create":   "",
		"create_before_destroy": "adoption_key = \"only here\"\nlifecycle {\n  create_before_destroy = true\n}",
	}
	for name, lifecycle := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
			// On cluster c the release is installed, and its deployment is never ready.
			s.forbidPods(t, 2)
			options := lifecycle + "\n" + s.podsFit()
			w.configure(t, s.provider("", on, on, on), s.workload("one"), target(options, "fleet_bundle.one.bundles"))
			w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "c/one", "not ready: Deployment "+s.namespace+"/one")
			want := map[string]string{"a/one": "Ready", "b/one": "Ready", "c/one": "ErrApplied"}
			if diff := cmp.Diff(want, w.states(t)); diff != "" {
				t.Errorf("saved states (-want +got):\n%s", diff)
			}
			s.expectReleases(t, 2, "one")
			before := []map[string]record{s.releases(t, 0), s.releases(t, 1)}

			w.configure(t, s.provider("", on, on, `on = "no"`), s.workload("one"), target(options, "fleet_bundle.one.bundles"))
			w.apply(t)
			s.expectNothing(t, 2)
			for i, records := range before {
				after := s.releases(t, i)
				if !slices.Equal(slices.Sorted(maps.Keys(records)), slices.Sorted(maps.Keys(after))) || records["one"].uid != after["one"].uid {
					t.Errorf("the release on cluster %d was lost or recreated: %v, then %v", i, records, after)
				}
			}
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			for i := range 2 {
				s.expectNothing(t, i)
			}
		})
	}
}

// A cluster that was down during the first apply is removed from the rule while it is still down.
func TestAccDownClusterTakenOut(t *testing.T) {
	t.Parallel()
	env := testenv.New(t, 2)
	s, w := newFixture(t, env), newWorkspace(t)
	w.configure(t, s.provider("", on, on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	stop(t, env.Cluster(1))
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "b/one")
	before := s.releases(t, 0)

	w.configure(t, s.provider("", on, `on = "no"`), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("the healthy cluster was touched (-before +after):\n%s", diff)
	}
	w.expectEmptyPlan(t)
	start(t, env.Cluster(1))
	s.expectNothing(t, 1)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// A cluster that does not respond to a refresh keeps its deployments.
func TestAccClusterDownDuringRefresh(t *testing.T) {
	t.Parallel()
	env := testenv.New(t, 2)
	s, w := newFixture(t, env), newWorkspace(t)
	w.configure(t, s.provider("", on, on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	w.apply(t)

	stop(t, env.Cluster(1))
	if output := unwrapped(w.expectEmptyPlan(t)); !strings.Contains(output, "Warning: Target all: cannot read b") {
		t.Errorf("no warning names cluster b:\n%s", output)
	}
	// A change is deployed to the cluster that responds, and the error names the other cluster.
	w.configure(t, s.provider("", on, on), s.bundle("one", "y"), target("", "fleet_bundle.one.bundles"))
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "b/one", "does not respond")
	if got := s.value(t, 0, "one"); got != "y" {
		t.Errorf("cluster a has the value %q, want y", got)
	}
	w.configure(t, s.provider(`on_unreachable = "error"`, on, on), s.bundle("one", "y"), target("", "fleet_bundle.one.bundles"))
	w.fail(t, []string{"plan", "-input=false"}, "cannot read b")

	start(t, env.Cluster(1))
	if diff := cmp.Diff([]string{"~ b/one"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	w.run(t, "apply", "-input=false", "tfplan")
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
}

// A release whose record was deleted is shown as to be added. One apply restores it although its
// objects still exist.
func TestAccDeletedRecordIsRestored(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	w.configure(t, s.provider("", on, on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	err := s.client(t, 0).CoreV1().Secrets(s.namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"+ a/one"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	w.run(t, "apply", "-input=false", "tfplan")
	s.expectReleases(t, 0, "one")
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
	s.expectNothing(t, 1)
}

// A change by another tool is noticed, and undone with consent.
func TestAccChangedReleaseIsNoticed(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	w.configure(t, s.provider("", on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	// A rollback or an upgrade by Helm copies our labels to a new revision.
	s.repeatRevision(t, 0, "one", 1, 2)
	if diff := cmp.Diff([]string{"~ a/one"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	w.fail(t, []string{"apply", "-input=false", "tfplan"}, "was created by Helm", "take_ownership")
	w.configure(t, s.provider("", on), s.bundle("one", "x"), target("take_ownership = true", "fleet_bundle.one.bundles"))
	w.apply(t)
	if got := s.releases(t, 0)["one"]; got.revision != "3" || got.status != "deployed" {
		t.Errorf("got %+v, want revision 3, deployed", got)
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// A cluster that gets another API address is still the same cluster.
func TestAccMovedClusterIsTheSame(t *testing.T) {
	t.Parallel()
	env := testenv.New(t, 1)
	s, w := newFixture(t, env), newWorkspace(t)
	w.configure(t, s.provider("", on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	host := env.Cluster(0).Host()
	if err := env.Cluster(0).Move(t.Context()); errors.Is(err, testenv.ErrExternal) {
		t.Skip("existing clusters cannot be moved")
	} else if err != nil {
		t.Fatal(err)
	}
	if env.Cluster(0).Host() == host {
		t.Fatal("the cluster has its old address")
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// Two plans of the same state, each with an empty cache in a folder of its own,
// are equal.
func TestAccPlansAreEqualEverywhere(t *testing.T) {
	t.Parallel()
	s, first := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	first.configure(t, s.provider("", on, on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	first.apply(t)
	state, err := os.ReadFile(filepath.Join(first.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	second := newWorkspace(t)
	second.write(t, "terraform.tfstate", string(state))
	for _, of := range []struct {
		guards string
		says   []string
	}{
		{closed(`, targets = [{ cluster_name = "b" }]`), []string{`~ "a/one"`, "Not removed:", "by window nightly"}},
		{`  policies = { all = { applies_to = { all = true }, labels = { team = "*" }, action = "warn" } }`, []string{`~ "a/one"`, "policy all (labels) warns of"}},
		{"", []string{`- "b/one"`, `~ "a/one"`}},
	} {
		var printed string
		plans := make([]string, 0, 2)
		for _, w := range []*workspace{first, second} {
			w.configure(t, s.provider(of.guards, on, `on = "no"`), s.bundle("one", "y"), target("", "fleet_bundle.one.bundles"))
			printed = unwrapped(w.run(t, "plan", "-out=tfplan", "-input=false"))
			plans = append(plans, w.run(t, "show", "tfplan"))
		}
		if diff := cmp.Diff(plans[0], plans[1]); diff != "" {
			t.Errorf("plans differ:\n%s", diff)
		}
		for _, want := range of.says {
			if !strings.Contains(printed, want) {
				t.Errorf("the plan does not have %q:\n%s", want, printed)
			}
		}
	}
	first.run(t, "apply", "-input=false", "tfplan")
	s.expectNothing(t, 1)
	first.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
