package fleet

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// Fleet lets two Bundles deliver one release to a cluster. The second owner gets an error before
// anything is written, on the clusters where another delivers the release.
func TestAccTaken(t *testing.T) {
	t.Parallel()
	fleet := testenv.SharedFleet(t)
	const namespace = "taken"
	clusters := inventory(t, fleet)
	wanted := func(value string) []*bundle.Bundle {
		return []*bundle.Bundle{newBundle(t, "plain", "defaultNamespace: "+namespace+"\n", map[string]string{"a.yaml": configMap("plain", value)})}
	}
	first := newDelivery(realEngine(t, fleet, Settings{}), "first", "instance-first")
	noFailures(t, first.apply(t, deploymentsFor(t, wanted("first"), clusters[:2])).Failures)

	second := newDelivery(realEngine(t, fleet, Settings{}), "second", "instance-second")
	second.identity.Owner = "another-owner"
	deployments := deploymentsFor(t, wanted("second"), clusters)
	taken, err := second.engine.Taken(t.Context(), second.identity.Owner, deployments, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[deploy.Key]string{}
	for _, cluster := range []string{"c1", "c2"} {
		want[deploy.Key{Cluster: cluster, Bundle: "plain"}] = "fleet-default/" + first.bundleName("plain")
	}
	if diff := cmp.Diff(want, takenBy(t, taken)); diff != "" {
		t.Errorf("taken in the plan (-want +got):\n%s", diff)
	}
	failed := map[deploy.Key]error{}
	for _, failure := range second.apply(t, deployments).Failures {
		failed[deploy.Key{Cluster: failure.Cluster, Bundle: failure.Bundle}] = failure.Err
	}
	if diff := cmp.Diff(want, takenBy(t, failed)); diff != "" {
		t.Errorf("taken in the apply (-want +got):\n%s", diff)
	}
	values := func() []string {
		return []string{valueOf(t, fleet, "c1", namespace, "plain", "value"), valueOf(t, fleet, "c2", namespace, "plain", "value"), valueOf(t, fleet, "c3", namespace, "plain", "value")}
	}
	if diff := cmp.Diff([]string{"first", "first", "second"}, values()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}

	noFailures(t, first.apply(t, nil).Failures)
	noFailures(t, second.apply(t, deployments).Failures)
	if diff := cmp.Diff([]string{"second", "second", "second"}, values()); diff != "" {
		t.Errorf("values after the first owner has removed its deployments (-want +got):\n%s", diff)
	}
	if taken, err := second.engine.Taken(t.Context(), second.identity.Owner, deployments, second.records); err != nil || taken != nil {
		t.Errorf("what is delivered already: got %v, %v", taken, err)
	}
	noFailures(t, second.apply(t, nil).Failures)
	noBundles(t, second)
}

// A target that replaces another with create_before_destroy takes its Bundles over by the adoption key.
// The removal of the former one leaves them to it.
func TestAccReplacementKeepsBundles(t *testing.T) {
	t.Parallel()
	fleet := testenv.SharedFleet(t)
	const namespace = "replaced"
	wanted := deploymentsFor(t, []*bundle.Bundle{newBundle(t, "plain", "defaultNamespace: "+namespace+"\n", map[string]string{"a.yaml": configMap("plain", "x")})}, inventory(t, fleet)[:1])
	former, next := newDelivery(realEngine(t, fleet, Settings{}), "replaced", "instance-former"), newDelivery(realEngine(t, fleet, Settings{}), "replaced", "instance-next")
	former.identity.AdoptionKey, next.identity.AdoptionKey = "key", "key"
	noFailures(t, former.apply(t, wanted).Failures)
	outcome := next.apply(t, wanted)
	noFailures(t, outcome.Failures)
	if len(outcome.Existing) > 0 {
		t.Fatalf("the create stops because of %+v", outcome.Existing)
	}
	outcome = former.apply(t, nil)
	noFailures(t, outcome.Failures)
	if len(outcome.Notices) != 1 || outcome.Notices[0].LeftTo == "" {
		t.Errorf("notices of the removal: got %+v, want one that the Bundle has another owner", outcome.Notices)
	}
	if got := valueOf(t, fleet, "c1", namespace, "plain", "value"); got != "x" {
		t.Errorf("after the removal of the former target the value is %q, want x", got)
	}
	noFailures(t, next.apply(t, nil).Failures)
	noBundles(t, next)
}

// takenBy returns the Bundles that deliver releases.
func takenBy(t *testing.T, errs map[deploy.Key]error) map[deploy.Key]string {
	t.Helper()
	by := map[deploy.Key]string{}
	for key, err := range errs {
		taken, is := errors.AsType[*TakenError](err)
		if !is {
			t.Fatalf("%s: got %v, want a TakenError", key, err)
		}
		by[key] = taken.By
	}
	return by
}
