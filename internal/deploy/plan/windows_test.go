package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/window"
)

// closedAt is noon, and nightly opens at 22:00.
func closedAt() time.Time { return time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC) }

func nightly(change func(*window.Specification)) window.Specification {
	s := window.Specification{Name: "nightly", Effect: window.Allow, Cron: "0 22 * * *", Duration: "6h", Clusters: window.Clusters{All: true}}
	change(&s)
	return s
}

func windowsAt(t *testing.T, now time.Time, specification window.Specification) deploy.Windows {
	t.Helper()
	made, err := window.New(specification)
	if err != nil {
		t.Fatal(err)
	}
	decided, err := window.At(now, []window.Window{made}, []target.Cluster{target.NewCluster("a"), target.NewCluster("b")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return decided
}

func deploymentOf(cluster, name, digest string) target.Deployment {
	of := &bundle.Bundle{Name: name, Definition: fleetyaml.Definition{Labels: map[string]string{"name": name}}}
	return target.Deployment{Cluster: cluster, Bundle: of, Release: name, Namespace: "ns", Digest: digest}
}

// recordOf is the record of a deployment of deploymentOf.
func recordOf(name string) deploy.Record {
	return deploy.Record{Release: name, Namespace: "ns", Digest: "old", State: status.Ready, BundleLabels: map[string]string{"name": name}}
}

// A change in which a window holds some deployments.
func TestCompareWithWindows(t *testing.T) {
	t.Parallel()
	all := func(*window.Specification) {}
	ofOne := func(s *window.Specification) { s.Bundles.Names = []string{"one"} }
	labelled := func(s *window.Specification) {
		s.Bundles.Selector = &fleetyaml.Selector{MatchLabels: map[string]string{"name": "one"}}
	}
	drifted := recordOf("one")
	drifted.Counts.Modified = 1
	failed := recordOf("one")
	failed.State = status.ErrApplied
	unlabelled := recordOf("two")
	unlabelled.BundleLabels = nil
	relabelled := deploymentOf("a", "one", "new")
	relabelled.Bundle.Definition.Labels = map[string]string{"name": "free"}
	renamed := deploymentOf("a", "free", "new")
	renamed.Release = "one"
	taking := deploymentOf("a", "free", "new")
	taking.Options.Helm = &fleetyaml.Helm{TakeOwnership: true}
	unless := func(s *window.Specification) {
		labelled(s)
		s.Effect, s.Cron, s.Duration = window.Deny, "0 6 * * *", "12h"
	}
	one := map[deploy.Key]deploy.Record{key("a", "one"): recordOf("one")}
	tests := map[string]struct {
		window func(*window.Specification)
		open   bool
		wanted []target.Deployment
		prior  map[deploy.Key]deploy.Record
		needs  map[string][]string
		want   string
		held   []string
	}{
		"an update":            {window: all, wanted: []target.Deployment{deploymentOf("a", "one", "new")}, prior: one, want: "+0 ~0 -0 =1, 1 held", held: []string{"a/one deploying nightly"}},
		"an update, open":      {window: all, open: true, wanted: []target.Deployment{deploymentOf("a", "one", "new")}, prior: one, want: "+0 ~1 -0 =0"},
		"an installation":      {window: all, wanted: []target.Deployment{deploymentOf("a", "one", "new")}, want: "+0 ~0 -0 =0, 1 held", held: []string{"a/one deploying nightly"}},
		"nothing to do":        {window: all, wanted: []target.Deployment{deploymentOf("a", "one", "old")}, prior: one, want: "+0 ~0 -0 =1"},
		"a removal":            {window: all, prior: one, want: "+0 ~0 -0 =1, 1 held", held: []string{"a/one removing nightly"}},
		"a removal, open":      {window: all, open: true, prior: one, want: "+0 ~0 -1 =0"},
		"another bundle":       {window: ofOne, wanted: []target.Deployment{deploymentOf("a", "two", "new")}, prior: one, want: "+1 ~0 -0 =1, 1 held", held: []string{"a/one removing nightly"}},
		"labels of a bundle":   {window: labelled, wanted: []target.Deployment{deploymentOf("a", "one", "new"), deploymentOf("a", "two", "new")}, want: "+1 ~0 -0 =0, 1 held", held: []string{"a/one deploying nightly"}},
		"labels are not known": {window: labelled, prior: map[deploy.Key]deploy.Record{key("a", "two"): unlabelled}, want: "+0 ~0 -0 =1, 1 held", held: []string{"a/two removing nightly"}},
		"labels known of one":  {window: labelled, wanted: []target.Deployment{deploymentOf("b", "two", "new")}, prior: map[deploy.Key]deploy.Record{key("a", "two"): recordOf("two")}, want: "+1 ~0 -1 =0"},
		"labels of the state":  {window: labelled, prior: map[deploy.Key]deploy.Record{key("a", "two"): recordOf("two")}, want: "+0 ~0 -1 =0"},
		"other labels": {
			window: labelled, wanted: []target.Deployment{relabelled}, prior: one, want: "+0 ~0 -0 =1, 1 held", held: []string{"a/one deploying nightly"},
		},
		"other labels, denied": {
			window: unless, wanted: []target.Deployment{relabelled}, prior: one, want: "+0 ~0 -0 =1, 1 held", held: []string{"a/one deploying nightly"},
		},
		"labels that a window selects now": {
			window: labelled, wanted: []target.Deployment{deploymentOf("a", "one", "new")},
			prior: map[deploy.Key]deploy.Record{key("a", "one"): recordOf("two")}, want: "+0 ~0 -0 =1, 1 held", held: []string{"a/one deploying nightly"},
		},
		"labels that no window selected": {
			window: labelled, wanted: []target.Deployment{relabelled}, prior: map[deploy.Key]deploy.Record{key("a", "one"): recordOf("two")}, want: "+0 ~1 -0 =0",
		},
		"other labels, with another cluster": {
			window: labelled, wanted: []target.Deployment{relabelled}, prior: map[deploy.Key]deploy.Record{key("b", "one"): recordOf("one")}, want: "+1 ~0 -0 =1, 1 held", held: []string{"b/one removing nightly"},
		},
		"another name for the release": {
			window: ofOne, wanted: []target.Deployment{renamed}, prior: one, want: "+0 ~0 -0 =1, 2 held", held: []string{"a/free deploying nightly", "a/one removing nightly"},
		},
		"another bundle that takes objects over": {
			window: ofOne, wanted: []target.Deployment{deploymentOf("a", "one", "old"), taking}, prior: one, want: "+0 ~0 -0 =1, 1 held", held: []string{"a/free deploying nightly"},
		},
		"another name for a release of another cluster": {
			window: ofOne, wanted: []target.Deployment{renamed}, prior: map[deploy.Key]deploy.Record{key("b", "one"): recordOf("one")}, want: "+1 ~0 -0 =1, 1 held", held: []string{"b/one removing nightly"},
		},
		"drift":                 {window: all, wanted: []target.Deployment{deploymentOf("a", "one", "old")}, prior: map[deploy.Key]deploy.Record{key("a", "one"): drifted}, want: "+0 ~0 -0 =1, 1 held", held: []string{"a/one deploying nightly"}},
		"drift that is allowed": {window: func(s *window.Specification) { s.CorrectsDrift = true }, wanted: []target.Deployment{deploymentOf("a", "one", "old")}, prior: map[deploy.Key]deploy.Record{key("a", "one"): drifted}, want: "+0 ~1 -0 =0"},
		"drift and an update":   {window: func(s *window.Specification) { s.CorrectsDrift = true }, wanted: []target.Deployment{deploymentOf("a", "one", "new")}, prior: map[deploy.Key]deploy.Record{key("a", "one"): drifted}, want: "+0 ~0 -0 =1, 1 held", held: []string{"a/one deploying nightly"}},
		"a second attempt":      {window: func(s *window.Specification) { s.CorrectsDrift = true }, wanted: []target.Deployment{deploymentOf("a", "one", "old")}, prior: map[deploy.Key]deploy.Record{key("a", "one"): failed}, want: "+0 ~0 -0 =1, 1 held", held: []string{"a/one deploying nightly"}},
		"what a held one needs": {
			window: ofOne, prior: map[deploy.Key]deploy.Record{key("a", "one"): recordOf("one"), key("a", "two"): recordOf("two"), key("a", "three"): recordOf("three"), key("b", "two"): recordOf("two")},
			needs: map[string][]string{"one": {"two"}, "two": {"three"}}, want: "+0 ~0 -1 =3, 3 held",
			held: []string{"a/one removing nightly", "a/three removing bundle two, which depends on it, is held", "a/two removing bundle one, which depends on it, is held"},
		},
		"what a held update needs": {
			window: ofOne, wanted: []target.Deployment{deploymentOf("a", "one", "new")}, prior: map[deploy.Key]deploy.Record{key("a", "one"): recordOf("one"), key("a", "two"): recordOf("two")},
			needs: map[string][]string{"one": {"two"}}, want: "+0 ~0 -0 =2, 2 held", held: []string{"a/one deploying nightly", "a/two removing bundle one, which depends on it, is held"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := closedAt()
			if test.open {
				now = now.Add(11 * time.Hour)
			}
			desired := plan.Desired{Deployments: test.wanted, Windows: windowsAt(t, now, nightly(test.window)), Needs: test.needs}
			change := plan.Compare(desired, test.prior, false)
			if got := change.Counts().String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if diff := cmp.Diff(test.held, texts(change.Held)); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			would := plan.HeldByWindows(desired, desired.Windows, test.prior, false)
			if diff := cmp.Diff(test.held, texts(would)); diff != "" {
				t.Errorf("would be held (-want +got):\n%s", diff)
			}
		})
	}
}

// texts describes failures, with only the name of the window if a window holds the deployment.
func texts(failures []deploy.Failure) []string {
	var found []string
	for _, f := range failures {
		text := status.Cause(f.Err)
		if _, name, ok := strings.Cut(text, " by window "); ok {
			text = name
		}
		found = append(found, fmt.Sprintf("%s/%s %s %s", f.Cluster, f.Bundle, f.Doing, text))
	}
	slices.Sort(found)
	return found
}

// A deployment that was planned while a window was open is blocked when the window is closed.
// Deployments that it needs stay.
func TestBlockedByWindows(t *testing.T) {
	t.Parallel()
	ofOneAndTwo := nightly(func(s *window.Specification) { s.Bundles.Names = []string{"one", "two"} })
	desired := plan.Desired{
		Deployments: []target.Deployment{deploymentOf("a", "one", "new"), deploymentOf("a", "free", "new")},
		Windows:     windowsAt(t, closedAt().Add(11*time.Hour), ofOneAndTwo), Needs: map[string][]string{"two": {"three"}},
	}
	prior := map[deploy.Key]deploy.Record{key("a", "one"): recordOf("one"), key("a", "two"): recordOf("two"), key("a", "three"): recordOf("three"), key("a", "four"): recordOf("four")}
	change := plan.Compare(desired, prior, false)
	if got := change.Counts().String(); got != "+1 ~1 -3 =0" {
		t.Fatalf("planned %s", got)
	}
	blocked := deploy.FailuresOf(change.Blocked(desired, windowsAt(t, closedAt(), ofOneAndTwo)))
	var got []string
	for _, f := range blocked {
		got = append(got, f.Bundle+" "+status.Cause(f.Err))
	}
	const since = "the plan is from a time at which changes were allowed: "
	if diff := cmp.Diff([]string{
		"one " + since + "held until Tue 2026-11-24 22:00 UTC by window nightly",
		"three " + since + "bundle two, which depends on it, is held",
		"two " + since + "held until Tue 2026-11-24 22:00 UTC by window nightly",
	}, got); diff != "" {
		t.Errorf("blocked (-want +got):\n%s", diff)
	}
	if blocked := change.Blocked(desired, nil); len(blocked) > 0 {
		t.Errorf("blocked without windows: %v", blocked)
	}
}
