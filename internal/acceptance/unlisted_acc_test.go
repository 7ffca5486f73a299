package acceptance_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// An API server returns empty lists of Secrets. No release in the state counts as removed. Each
// command is a process of its own, which has never read the releases.
func TestAccEmptyListsForgetNothing(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	if env.Cluster(0).Token() == "" {
		t.Skip("the cluster of this context is not reached by a token")
	}
	w, s, proxy := newWorkspace(t), newFixture(t, env), faulttest.New(t, env.Cluster(0))
	provider := fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = {\n    a = { host = %q, token = %q, labels = { on = \"yes\" }, cluster_ca_certificate = <<-CA\n%sCA\n    }\n  }\n}\n",
		s.namespace, proxy.Host(), env.Cluster(0).Token(), proxy.CACertificate())
	configure := func(value string) {
		w.configure(t, provider, s.bundle("one", value), s.bundle("two", value), target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	}
	configure("x")
	w.apply(t)
	before := s.releases(t, 0)
	lies := func(request *http.Request) faulttest.Fault {
		return faulttest.Fault{Empty: faulttest.IsList(request, "secrets")}
	}
	const cause = "the cluster's list of release records does not contain this release, but its record still exists"

	proxy.Set(lies)
	output := unwrapped(w.expectEmptyPlan(t))
	for _, want := range []string{"cannot read a/one, a/two", cause} {
		if !strings.Contains(output, want) {
			t.Errorf("the plan does not say %q:\n%s", want, output)
		}
	}
	w.run(t, "apply", "-refresh-only", "-auto-approve", "-input=false")
	configure("y")
	w.fail(t, applying, cause, "sh.helm.release.v1.")
	w.fail(t, []string{"destroy", "-auto-approve"}, cause)
	proxy.Set(nil)
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("releases (-before +after):\n%s", diff)
	}
	w.apply(t)
	if got := s.value(t, 0, "one"); got != "y" {
		t.Errorf("the value is %q, want y", got)
	}

	// A release that was really removed is planned again, and its destroy succeeds.
	s.deleteRecords(t, 0)
	if diff := cmp.Diff([]string{"+ a/one", "+ a/two"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	w.apply(t)
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
