package run_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/preview"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A release in a namespace that is not listed stays in state: a refresh and a removal fail for it.
func TestReleaseOutsideTheNamespaces(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	prior := map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(web)}
	clusters := newFleet("c1")
	clusters["c1"].put(deployed(web))
	clusters["c1"].namespaces = []string{"other"}

	seen := clusters.runner().Observe(t.Context(), identity(), deploy.DriftRelease, prior)
	if diff := cmp.Diff(prior, seen.Records); diff != "" || len(seen.Missing) > 0 {
		t.Errorf("lost: %v, records (-want +got):\n%s", seen.Missing, diff)
	}
	if diff := cmp.Diff(map[string][]string{"c1": {"other"}}, seen.Listed); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	asked := request(prior)
	asked.Remove = []deploy.Key{key("c1", "web")}
	outcome := clusters.runner().Apply(t.Context(), asked)
	if diff := cmp.Diff(prior, outcome.Records); diff != "" || len(clusters["c1"].did()) > 0 {
		t.Errorf("did %v, records (-want +got):\n%s", clusters["c1"].did(), diff)
	}
	for _, failures := range [][]deploy.Failure{seen.Failures, outcome.Failures} {
		if len(failures) != 1 {
			t.Fatalf("failures: %v, want one", failures)
		}
		if _, is := errors.AsType[*release.OutsideError](failures[0].Err); !is {
			t.Errorf("failure: %v, want an OutsideError", failures[0].Err)
		}
	}
}

// A bundle of another target can be in a namespace that is not listed. So it does not count as missing.
func TestDependencyOutsideTheNamespaces(t *testing.T) {
	t.Parallel()
	web := after(deployment("c1", "web", "v1-a"), "db")
	external := map[deploy.Key][]rollout.ExternalDependency{key("c1", "web"): {{Bundle: "db"}}}
	for name, test := range map[string]struct {
		namespaces []string
		missing    int
	}{"all namespaces": {missing: 1}, "another namespace": {namespaces: []string{"ns"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1")
			clusters["c1"].namespaces = test.namespaces
			preview := &preview.Preview{Runner: clusters.runner(), Connectable: func(string) bool { return true }, Owner: owner, Timeout: time.Minute}
			plan := &plan.Plan{Change: plan.Change{Write: []target.Deployment{web}, External: external}}
			if got := preview.MissingDependencies(t.Context(), plan, []*bundle.Bundle{}, func(deploy.Key) bool { return false }); len(got) != test.missing {
				t.Errorf("missing: %v, want %d", got, test.missing)
			}
			asked := request(nil)
			asked.Write = plan.Write
			failures := clusters.runner().Apply(t.Context(), asked).Failures
			if len(failures) != 1 {
				t.Fatalf("failures: %v, want one", failures)
			}
			_, isMissing := errors.AsType[*rollout.MissingDependencyError](failures[0].Err)
			isLimited := strings.Contains(failures[0].Err.Error(), "limits which releases are known")
			if isMissing != (test.missing == 1) || isLimited == isMissing {
				t.Errorf("failure: %v", failures[0].Err)
			}
		})
	}
}
