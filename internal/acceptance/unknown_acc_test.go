package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// later is a value that is known only after the apply, with its later value.
func later(name, value string) string {
	return fmt.Sprintf("resource \"terraform_data\" %q {\n  input = %s\n}\n", name, value)
}

// Each value that may come from a resource of the same apply does so once: the plan does not fail,
// the apply does what was planned, and the next plan is empty. First the target is created in this
// way. Then the target exists, and the value becomes unknown again.
func TestAccUnknownUntilApply(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	const output = "terraform_data.later.output"
	tests := map[string]struct {
		// value is the later value, and place puts an expression where it belongs.
		value func(s *fixture) string
		place func(s *fixture, expression string) []string
	}{
		"the clusters": {
			value: func(s *fixture) string { return s.clustersMap() },
			place: func(s *fixture, expression string) []string {
				return []string{fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = %s\n}\n", s.namespace, expression), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
			},
		},
		"a cluster": {
			value: func(s *fixture) string { return s.clusterEntry(0) },
			place: func(s *fixture, expression string) []string {
				return []string{s.providerWith("a = " + expression), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
			},
		},
		"a context": {
			value: func(s *fixture) string { return fmt.Sprintf("%q", s.env.Contexts()[0]) },
			place: func(s *fixture, expression string) []string {
				return []string{s.providerWith(strings.Replace("a = "+s.clusterEntry(0), fmt.Sprintf("%q", s.env.Contexts()[0]), expression, 1)), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
			},
		},
		"a label": {
			value: func(*fixture) string { return `"yes"` },
			place: func(s *fixture, expression string) []string {
				return []string{s.providerWith(strings.Replace("a = "+s.clusterEntry(0), `"yes"`, expression, 1)), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
			},
		},
		"the owner": {
			value: func(s *fixture) string { return fmt.Sprintf("%q", s.namespace) },
			place: func(s *fixture, expression string) []string {
				return []string{strings.Replace(s.provider("", on, on), fmt.Sprintf("owner = %q", s.namespace), "owner = "+expression, 1), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
			},
		},
		"credentials that are needed for nothing": {
			value: func(*fixture) string { return `"token"` },
			place: func(s *fixture, expression string) []string {
				return []string{s.provider("  git = { \"https://git.invalid/\" = { token = "+expression+" } }", on, on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
			},
		},
		"a file of a bundle": {
			value: func(*fixture) string { return `"later"` },
			place: func(s *fixture, expression string) []string {
				return []string{s.provider("", on, on), s.bundle("one", "${"+expression+"}"), target("", "fleet_bundle.one.bundles")}
			},
		},
		"the name of a bundle": {
			value: func(*fixture) string { return `"one"` },
			place: func(s *fixture, expression string) []string {
				return []string{s.provider("", on, on), strings.Replace(s.bundle("one", "x"), `name = "one"`, "name = "+expression, 1), target("", "fleet_bundle.one.bundles")}
			},
		},
		"a rule": {
			value: func(*fixture) string { return `"yes"` },
			place: func(s *fixture, expression string) []string {
				return []string{s.provider("", on, on), s.bundle("one", "x"), strings.Replace(target("", "fleet_bundle.one.bundles"), `"yes"`, expression, 1)}
			},
		},
		"the name of the target": {
			value: func(*fixture) string { return `"all"` },
			place: func(s *fixture, expression string) []string {
				return []string{s.provider("", on, on), s.bundle("one", "x"), strings.Replace(target("", "fleet_bundle.one.bundles"), `name = "all"`, "name = "+expression, 1)}
			},
		},
		"plan_objects": {
			value: func(*fixture) string { return "false" },
			place: func(s *fixture, expression string) []string {
				return []string{s.provider("", on, on), s.bundle("one", "x"), target("plan_objects = "+expression, "fleet_bundle.one.bundles")}
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s := newWorkspace(t), newFixture(t, env)
			config := append(test.place(s, output), later("later", test.value(s)))
			w.configure(t, config...)
			w.apply(t)
			w.expectEmptyPlan(t)
			s.expectReleases(t, 0, "one")
			before := s.releases(t, 0)["one"]
			w.run(t, "apply", "-auto-approve", "-replace=terraform_data.later")
			w.expectEmptyPlan(t)
			if after := s.releases(t, 0)["one"]; after != before {
				t.Errorf("the release was %v and is %v", before, after)
			}
			w.configure(t, append(test.place(s, test.value(s)), later("later", test.value(s)))...)
			w.expectEmptyPlan(t) // The source of the value made no difference.
			w.run(t, "destroy", "-auto-approve")
			s.expectNothing(t, 0)
		})
	}
}

// clusterEntry is an entry of clusters with on = "yes".
func (s *fixture) clusterEntry(i int) string {
	return fmt.Sprintf("{ config_path = %q, config_context = %q, labels = { on = \"yes\" } }", s.env.Kubeconfig(), s.env.Contexts()[i])
}

// clustersMap are clusters a and b.
func (s *fixture) clustersMap() string {
	return fmt.Sprintf("{ a = %s, b = %s }", s.clusterEntry(0), s.clusterEntry(1))
}

// providerWith is a provider with some clusters, and with b.
func (s *fixture) providerWith(clusters string) string {
	return fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = {\n    %s\n    b = %s\n  }\n}\n", s.namespace, clusters, s.clusterEntry(1))
}

// A label whose value is known only after the apply leaves everything known if nothing reads it. If
// a customization reads it, the deployments are unknown.
func TestAccUnknownLabel(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	entry := strings.Replace(s.clusterEntry(0), `on = "yes"`, `on = "yes", zone = terraform_data.zone.output`, 1)
	config := func(selector string) []string {
		customized := strings.Replace(s.bundle("one", "x"), "  files =", "  target_customizations = [{ name = \"c\", cluster_selector = { match_labels = { "+selector+" } }, helm = { values = jsonencode({ a = 1 }) } }]\n  files =", 1)
		return []string{s.providerWith("a = " + entry), "resource \"terraform_data\" \"zone\" { input = \"z\" }\n", customized, target("", "fleet_bundle.one.bundles")}
	}
	w.configure(t, config(`zone = "z"`)...)
	if output := unwrapped(w.run(t, "plan", "-input=false")); !strings.Contains(output, "labels or other facts of cluster a") {
		t.Errorf("no warning that the deployments are unknown:\n%s", output)
	}
	w.configure(t, config(`env = "z"`)...)
	if diff := cmp.Diff([]string{"+ a/one", "+ b/one"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	w.run(t, "apply", "-input=false", "tfplan")
	w.expectEmptyPlan(t)
	w.run(t, "apply", "-auto-approve", "-input=false", "-replace=terraform_data.zone")
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-input=false")
	s.expectNothing(t, 0)
}
