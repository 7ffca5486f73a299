package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

const off = `on = "no"`

// A change that removes more than allowed is an error while planning. This limit does not apply to
// a destroy.
func TestAccMaxRemovals(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	one := s.bundle("one", "x")
	w.configure(t, s.provider("", on, on, on), one, target("max_removals = 1", "fleet_bundle.one.bundles"))
	w.apply(t)

	w.configure(t, s.provider("", on, off, off), one, target("max_removals = 1", "fleet_bundle.one.bundles"))
	w.fail(t, []string{"plan", "-input=false"}, "2 deployments would be removed", `max_removals = "1" allows 1 of 3`)
	w.configure(t, s.provider("", on, off, off), one, target(`max_removals = "34%"`, "fleet_bundle.one.bundles"))
	w.fail(t, []string{"plan", "-input=false"}, `max_removals = "34%" allows 1 of 3`)
	w.configure(t, s.provider("", on, off, off), one, target(`max_removals = "few"`, "fleet_bundle.one.bundles"))
	w.fail(t, []string{"plan", "-input=false"}, "must be a number of deployments or a percentage")
	w.configure(t, s.provider("", on, off, off), one, target(`max_removals = "70%"`, "fleet_bundle.one.bundles"))
	w.apply(t)
	s.expectNothing(t, 1)
	s.expectNothing(t, 2)
	w.configure(t, s.provider("", on), one, target("max_removals = 0", "fleet_bundle.one.bundles"))
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

func TestAccDeletionProtection(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	one := s.bundle("one", "x")
	w.configure(t, s.provider("", on), one, target("deletion_protection = true", "fleet_bundle.one.bundles"))
	w.apply(t)
	before := s.releases(t, 0)
	w.fail(t, []string{"destroy", "-auto-approve"}, "Target all is protected from deletion", "deletion_protection = false")
	w.configure(t, s.provider("", on), one)
	w.fail(t, []string{"plan", "-input=false"}, "Target all is protected from deletion")
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("releases (-before +after):\n%s", diff)
	}
	w.configure(t, s.provider("", on), one, target("deletion_protection = false", "fleet_bundle.one.bundles"))
	w.apply(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// If a rule stops matching, everything is removed, but only if this is allowed.
func TestAccAllowEmpty(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	one := s.bundle("one", "x")
	w.configure(t, s.provider("", on, on), one, target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	w.configure(t, s.provider("", off, off), one, target("", "fleet_bundle.one.bundles"))
	w.fail(t, []string{"plan", "-input=false"}, "all deployments would be removed", "allow_empty = true")
	w.configure(t, s.provider("", off, off), one, target("allow_empty = true", "fleet_bundle.one.bundles"))
	w.apply(t)
	s.expectNothing(t, 0)
	s.expectNothing(t, 1)
	w.expectEmptyPlan(t)
}

// A cluster is removed from the provider together with its deployments. If it can be reached
// without a stored secret, the same apply removes them from the cluster.
func TestAccClusterEntryRemoved(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	one := s.bundle("one", "x")
	w.configure(t, s.provider("", on, on), one, target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	w.configure(t, s.provider("", on), one, target("", "fleet_bundle.one.bundles"))
	if diff := cmp.Diff([]string{"- b/one"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	w.run(t, "apply", "-input=false", "tfplan")
	s.expectNothing(t, 1)
	w.expectEmptyPlan(t)
	// The entry is removed together with the target.
	w.configure(t, s.provider("", on, on), one, target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	w.configure(t, s.provider("", ""))
	w.apply(t)
	s.expectNothing(t, 0)
	s.expectNothing(t, 1)
}

// An entry with a token has to be added again, or the cluster has to be forgotten on purpose.
func TestAccClusterEntryWithSecretRemoved(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	s, w, cluster := newFixture(t, env), newWorkspace(t), env.Cluster(1)
	if cluster.Token() == "" {
		t.Skip("the cluster of this context is not reached by a token")
	}
	one := s.bundle("one", "x")
	byToken := func(provider string) string {
		entry := fmt.Sprintf("t = { host = %q, cluster_ca_certificate = <<-CA\n%sCA\n token = %q, labels = { on = \"yes\" } }\n",
			cluster.Host(), string(cluster.CACertificate()), cluster.Token())
		return strings.Replace(provider, "clusters = {", "clusters = {\n"+entry, 1)
	}
	w.configure(t, byToken(s.provider("", on)), one, target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	w.configure(t, s.provider("", on), one, target("", "fleet_bundle.one.bundles"))
	w.fail(t, []string{"plan", "-input=false"}, "cluster t is not in the provider's clusters any more", `on_missing = "forget"`)
	w.configure(t, s.provider(`on_missing = "forget"`, on), one, target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	s.expectReleases(t, 1, "one")
	w.expectEmptyPlan(t)
	// The forgotten release still has the labels of this target, so the entry can be added again.
	w.configure(t, byToken(s.provider("", on)), one, target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
	s.expectNothing(t, 1)
}

// A cluster no longer exists, and its entry is removed as well. It is forgotten only on purpose.
func TestAccClusterGoneForGood(t *testing.T) {
	t.Parallel()
	env := testenv.New(t, 2)
	s, w := newFixture(t, env), newWorkspace(t)
	one := s.bundle("one", "x")
	w.configure(t, s.provider("", on, on), one, target("", "fleet_bundle.one.bundles"))
	w.apply(t)
	stop(t, env.Cluster(1))
	w.configure(t, s.provider("", on), one, target("", "fleet_bundle.one.bundles"))
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "b/one", "does not respond", `on_missing = "forget"`)
	if _, left := w.states(t)["b/one"]; !left {
		t.Error("b/one was forgotten by accident")
	}
	w.configure(t, s.provider(`on_missing = "forget"`, on), one, target("", "fleet_bundle.one.bundles"))
	if output := unwrapped(w.run(t, "apply", "-auto-approve", "-input=false")); !strings.Contains(output, "deployments on cluster b are forgotten") {
		t.Errorf("nothing says that they are forgotten:\n%s", output)
	}
	if _, left := w.states(t)["b/one"]; left {
		t.Error("b/one was not forgotten")
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
