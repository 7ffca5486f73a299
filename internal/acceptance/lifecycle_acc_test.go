package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A release that gets another name or namespace moves: the new release is installed before the old
// one is removed, and objects in both stay.
func TestAccReleaseMoves(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	provider, of := s.provider("", on), target("", "fleet_bundle.one.bundles")
	w.configure(t, provider, s.bundle("one", "x"), of)
	w.apply(t)
	before, err := s.client(t, 0).CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	renamed := strings.Replace(s.bundle("one", "x"), "files =", "helm = { release_name = \"another\" }\n  files =", 1)
	w.configure(t, provider, renamed, of)
	w.apply(t)
	s.expectReleases(t, 0, "another")
	after, err := s.client(t, 0).CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("the object that both releases hold is gone: %v", err)
	}
	if before.UID != after.UID {
		t.Error("the object that both releases hold was recreated")
	}
	w.expectEmptyPlan(t)

	elsewhere := newFixture(t, s.env)
	moved := strings.Replace(renamed, s.namespace, elsewhere.namespace, 1)
	w.configure(t, provider, moved, of)
	w.apply(t)
	s.expectNothing(t, 0)
	elsewhere.expectReleases(t, 0, "another")
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	elsewhere.expectNothing(t, 0)
}

// A target that gets another name keeps its releases as they are.
func TestAccTargetIsRenamed(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	provider := s.provider("", on)
	w.configure(t, provider, s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	before := s.releases(t, 0)
	w.configure(t, provider, s.bundle("one", "x"), strings.Replace(target("", "fleet_bundle.one.bundles"), `name = "all"`, `name = "renamed"`, 1))
	w.apply(t)
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("the release was touched (-before +after):\n%s", diff)
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// A replacement on request adopts the existing releases.
func TestAccReplaceAdopts(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	w.configure(t, s.provider("", on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	before := s.releases(t, 0)
	w.run(t, "apply", "-auto-approve", "-replace=fleet_cluster_target.all")
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("the release was touched (-before +after):\n%s", diff)
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// A release of another owner is an error, and is taken over only on request.
func TestAccForeignRelease(t *testing.T) {
	t.Parallel()
	s, first, second := newFixture(t, testenv.Shared(t)), newWorkspace(t), newWorkspace(t)
	config := func(owner, extra string) []string {
		provider := strings.Replace(s.provider("", on), fmt.Sprintf("owner = %q", s.namespace), fmt.Sprintf("owner = %q", owner), 1)
		return []string{provider, s.bundle("one", "x"), target(extra, "fleet_bundle.one.bundles")}
	}
	first.configure(t, config("first", "")...)
	first.apply(t)
	before := s.releases(t, 0)

	second.configure(t, config("second", "")...)
	second.fail(t, []string{"apply", "-auto-approve", "-input=false"}, `belongs to target "all" of owner "first"`, "take_ownership")
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("the release of another owner was touched (-before +after):\n%s", diff)
	}
	second.configure(t, config("second", "take_ownership = true")...)
	second.apply(t)
	second.expectEmptyPlan(t)

	// The first owner detects that it lost the release, and removes nothing. It forgets the release
	// only with consent, because its labels prove nothing.
	first.fail(t, []string{"destroy", "-auto-approve"}, "after the last revision of this provider", "take_ownership")
	s.expectReleases(t, 0, "one")
	gone := config("first", "take_ownership = true\n  allow_empty = true")
	first.configure(t, gone[0], gone[1], strings.Replace(gone[2], "[fleet_bundle.one.bundles]", "[]", 1))
	first.apply(t)
	first.run(t, "destroy", "-auto-approve")
	s.expectReleases(t, 0, "one")
	second.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
