package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// TestAccOffline stops the agent of c3, and the controller. No other test runs at the same time.
//
// It is not parallel, because it stops parts of the Fleet that the other tests share.
func TestAccOffline(t *testing.T) {
	fleet := testenv.SharedFleet(t)
	const namespace = "offline"
	strict, lenient := realEngine(t, fleet, Settings{}), realEngine(t, fleet, Settings{OnOffline: LeaveOffline})
	clusters := inventory(t, fleet)
	wanted := func(value string) []*bundle.Bundle {
		return []*bundle.Bundle{newBundle(t, "plain", "defaultNamespace: "+namespace+"\n", map[string]string{"a.yaml": configMap("plain", value)})}
	}
	d := newDelivery(strict, "offline", "instance-offline")
	noFailures(t, d.apply(t, deploymentsFor(t, wanted("1"), clusters)).Failures)

	if err := fleet.LoseAgent(t.Context(), "c3"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fleet.StartAgent(context.WithoutCancel(t.Context()), "c3"); err != nil {
			t.Error(err)
		}
	})
	second := deploymentsFor(t, wanted("2"), clusters)
	failures := d.apply(t, second).Failures
	if len(failures) != 1 || failures[0].Cluster != "c3" {
		t.Fatalf("failures: got %v, want one on c3", failures)
	}
	if _, is := errors.AsType[*offlineError](failures[0].Err); !is {
		t.Errorf("failure: got %v, want an offlineError", failures[0].Err)
	}
	got := []string{valueOf(t, fleet, "c1", namespace, "plain", "value"), valueOf(t, fleet, "c3", namespace, "plain", "value")}
	if diff := cmp.Diff([]string{"2", "1"}, got); diff != "" {
		t.Errorf("values on c1 and c3 (-want +got):\n%s", diff)
	}
	noFailures(t, d.refresh(t).Failures)
	if got, want := d.change(second).Counts().String(), "+0 ~1 -0 =2"; got != want {
		t.Errorf("with on_offline = error: the next plan has %s, want %s", got, want)
	}

	d.engine = lenient
	noFailures(t, d.apply(t, second).Failures)
	key := deploy.Key{Cluster: "c3", Bundle: "plain"}
	if got := d.records[key]; got.State != status.WaitApplied || !got.Waits {
		t.Errorf("with on_offline = leave: c3 is %v", d.states())
	}
	noFailures(t, d.refresh(t).Failures)
	if change := d.change(second); change.Counts().Any() {
		t.Errorf("with on_offline = leave: the next plan has %s: %v", change.Counts(), d.states())
	}

	left := d.engine.HandBack(t.Context(), run.Request{TargetIdentity: d.identity, Prior: d.records, Settings: d.settings}, []deploy.Key{key})
	if err := left[key]; err == nil || !strings.Contains(err.Error(), "only the agent can let go of the release") {
		t.Errorf("handing back what only an agent can that is offline: got %v", left)
	}

	// The management cluster discards the deployment of an agent that is offline.
	outcome := d.apply(t, deploymentsFor(t, wanted("2"), clusters[:2]))
	noFailures(t, outcome.Failures)
	if len(outcome.Notices) != 1 || outcome.Notices[0].Cluster != "c3" || outcome.Notices[0].Remains == "" {
		t.Errorf("notices: got %+v, want one that the release remains on c3", outcome.Notices)
	}
	if got := valueOf(t, fleet, "c3", namespace, "plain", "value"); got != "1" {
		t.Errorf("on c3 the value is %q, want 1", got)
	}

	t.Run("the controller is restarted during an apply", func(t *testing.T) {
		if err := fleet.StopController(t.Context()); err != nil {
			t.Fatal(err)
		}
		applied := make(chan deploy.Outcome, 1)
		go func() { applied <- d.apply(t, deploymentsFor(t, wanted("3"), clusters[:2])) }()
		untilDigest(t, fleet, d, "plain")
		if err := fleet.StartController(t.Context()); err != nil {
			t.Fatal(err)
		}
		noFailures(t, (<-applied).Failures)
		if got := valueOf(t, fleet, "c1", namespace, "plain", "value"); got != "3" {
			t.Errorf("on c1 the value is %q, want 3", got)
		}
	})
	t.Run("an apply is interrupted", func(t *testing.T) {
		if err := fleet.StopController(t.Context()); err != nil {
			t.Fatal(err)
		}
		wanted := deploymentsFor(t, wanted("4"), clusters[:2])
		change := d.change(wanted)
		ctx, cancel := context.WithCancel(t.Context())
		applied := make(chan deploy.Outcome, 1)
		go func() {
			applied <- d.engine.Apply(ctx, run.Request{
				TargetIdentity: d.identity, Write: change.Write, Unchanged: change.Unchanged, Prior: d.records, Settings: d.settings,
			})
		}()
		untilDigest(t, fleet, d, "plain")
		cancel()
		outcome := <-applied
		if len(outcome.Failures) != 2 || outcome.Interruption == nil || len(outcome.Interruption.Unfinished) != 2 {
			t.Errorf("outcome: got %+v, want two deployments that are not finished", outcome)
		}
		if err := fleet.StartController(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.records, _ = change.RecordsAfter(outcome.Records, wanted, func(deploy.Key) bool { return false })
		noFailures(t, d.apply(t, wanted).Failures)
		if got := valueOf(t, fleet, "c2", namespace, "plain", "value"); got != "4" {
			t.Errorf("on c2 the value is %q, want 4", got)
		}
	})
	t.Run("a Bundle is edited and restored before the agent looks", func(t *testing.T) {
		if err := fleet.StopAgent(t.Context(), "c1"); err != nil {
			t.Fatal(err)
		}
		name := d.bundleName("plain")
		if _, err := fleetObjects(t, fleet, "bundles", testenv.FleetNamespace).Patch(t.Context(), name, types.MergePatchType,
			[]byte(`{"spec": {"helm": {"values": {"edited": true}}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		untilDeployment(t, fleet, name, "Fleet to give c1 what was edited", func(bd *bundleDeployment) bool { return bd.Spec.DeploymentID != bd.Status.AppliedDeploymentID })
		noFailures(t, d.refresh(t).Failures)
		applied := make(chan deploy.Outcome, 1)
		go func() { applied <- d.apply(t, deploymentsFor(t, wanted("4"), clusters[:2])) }()
		digest := untilDigest(t, fleet, d, "plain")
		bd := untilDeployment(t, fleet, name, "Fleet to give c1 what was restored", func(bd *bundleDeployment) bool { return bd.Metadata.Labels[labelDigest] == digest })
		if bd.Spec.DeploymentID == bd.Status.AppliedDeploymentID {
			t.Error("the deployment counts as applied, and an agent that is late could still apply the edit")
		}
		if err := fleet.StartAgent(t.Context(), "c1"); err != nil {
			t.Fatal(err)
		}
		noFailures(t, (<-applied).Failures)
		noFailures(t, d.refresh(t).Failures)
		if change := d.change(deploymentsFor(t, wanted("4"), clusters[:2])); change.Counts().Any() {
			t.Errorf("the next plan has %s: %v", change.Counts(), d.states())
		}
	})
	t.Run("the management cluster is away", func(t *testing.T) {
		away := New(Settings{Namespace: testenv.FleetNamespace}, func() (Connection, error) { return nil, errors.New("no way") }, realCharts(), d.engine.texts.masker)
		seen := away.Observe(t.Context(), d.identity, deploy.DriftLive, d.records)
		if diff := cmp.Diff(d.records, seen.Records); diff != "" || len(seen.Failures) != 2 || len(seen.Missing) > 0 {
			t.Errorf("failures %v, lost %v, records (-want +got):\n%s", seen.Failures, seen.Missing, diff)
		}
	})
	noFailures(t, d.apply(t, nil).Failures)
	noBundles(t, d)
}

// untilDeployment waits until the BundleDeployment of a Bundle on c1 is as wanted.
func untilDeployment(t *testing.T, fleet *testenv.Fleet, bundle, what string, is func(*bundleDeployment) bool) *bundleDeployment {
	t.Helper()
	var read bundleDeployment
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		object, err := fleetObjects(t, fleet, "bundledeployments", namespaceOf(t, fleet, "c1")).Get(ctx, bundle, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		read = bundleDeployment{}
		return convert(object.Object, &read) == nil && is(&read), nil
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
	return &read
}

// untilDigest waits until an apply has changed the Bundle of a bundle, and returns its digest.
func untilDigest(t *testing.T, fleet *testenv.Fleet, d *delivery, bundle string) string {
	t.Helper()
	bundles := fleetObjects(t, fleet, "bundles", testenv.FleetNamespace)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events, err := bundles.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + d.bundleName(bundle)})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	first := ""
	for event := range events.ResultChan() {
		object, ok := event.Object.(interface{ GetLabels() map[string]string })
		if !ok {
			continue
		}
		digest := object.GetLabels()[labelDigest]
		if first != "" && digest != first {
			return digest
		}
		first = digest
	}
	t.Fatal("the Bundle did not change")
	return ""
}
