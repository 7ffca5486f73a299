package acceptance_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// Windows of the tests that do not depend on the time of day.
const (
	// closedWindow allows changes on a day half a year away.
	closedWindow = `nightly = { effect = "allow", cron = "0 22 1 %d *", duration = "6h", time_zone = "Europe/Berlin"%s }`
	openWindow   = `nightly = { all = true, effect = "allow", cron = "* * * * *", duration = "24h" }`
)

// closed is a window that allows no changes for months. It concerns everything, unless more selects.
func closed(more string) string {
	if !strings.Contains(more, "bundle") && !strings.Contains(more, "targets") {
		more += ", all = true"
	}
	month := time.Now().AddDate(0, 6, 0).Month()
	return fmt.Sprintf("  windows = { "+closedWindow+" }\n", month, more)
}

const opened = "  windows = { " + openWindow + " }\n"

// Outside of its window nothing is installed, changed or removed, and each plan reports until when.
// When the window opens, the next apply does everything that was held.
func TestAccWindows(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	configure := func(windows string, bundles ...string) {
		names := make([]string, 0, len(bundles))
		parts := []string{s.provider(windows, on, on)}
		for _, bundle := range bundles {
			name, value, _ := strings.Cut(bundle, "=")
			parts = append(parts, s.bundle(name, value))
			names = append(names, "fleet_bundle."+name+".bundles")
		}
		w.configure(t, append(parts, target("", names...))...)
	}
	apply := []string{"apply", "-auto-approve", "-input=false"}

	configure(closed(""), "one=1", "two=1")
	w.reports(t, apply, "deployments are held", "held until", "22:00 CE", "by window nightly")
	s.expectNothing(t, 0)
	w.expectEmptyPlan(t)

	configure(opened, "one=1", "two=1")
	w.apply(t)
	s.expectReleases(t, 0, "one", "two")
	w.expectEmptyPlan(t)

	configure(closed(""), "one=2")
	w.reports(t, apply, "deployments are held", "held until", "Not removed:", "a/two", "b/two")
	s.expectReleases(t, 0, "one", "two")
	if got := s.value(t, 0, "one"); got != "1" {
		t.Errorf("the deployment was changed to %q", got)
	}
	w.expectEmptyPlan(t)
	w.fail(t, []string{"destroy", "-auto-approve", "-input=false"}, "change windows hold its removal", "Not removed:", "a/one", "windows_override")
	s.expectReleases(t, 1, "one", "two")

	configure(opened, "one=2")
	w.apply(t)
	s.expectReleases(t, 0, "one")
	s.expectReleases(t, 1, "one")
	if got := s.value(t, 1, "one"); got != "2" {
		t.Errorf("the deployment has %q after the window opened", got)
	}
	w.expectEmptyPlan(t)
}

// A window applies to the clusters and the bundles that it selects. A reason overrides the windows
// for a plan, and is in the history of the release.
func TestAccWindowsOverride(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	configure := func(windows, value string) {
		w.configure(t, s.provider(windows, on, on), s.bundle("one", value), s.bundle("two", value), target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	}
	configure("", "1")
	w.apply(t)
	only := closed(`, targets = [{ cluster_name = "b" }], bundles = ["two"]`)
	configure(only, "2")
	w.apply(t)
	for i, want := range []string{"2", "1"} {
		if got := s.value(t, i, "two"); got != want {
			t.Errorf("two on cluster %d has %q, want %q", i, got, want)
		}
		if got := s.value(t, i, "one"); got != "2" {
			t.Errorf("one on cluster %d has %q", i, got)
		}
	}
	configure(only+"  windows_override = \"INC-4711\"\n", "2")
	w.reports(t, []string{"apply", "-auto-approve", "-input=false"}, "windows_override permits what change windows hold", "b/two", "INC-4711")
	if got := s.value(t, 1, "two"); got != "2" {
		t.Errorf("two has %q in spite of the reason", got)
	}
	if got := s.story(t, 1, "two"); !strings.HasSuffix(got, "change windows overridden: INC-4711") {
		t.Errorf("the history says %q", got)
	}
	w.expectEmptyPlan(t)
	configure(only, "2")
	w.expectEmptyPlan(t)
}

// Drift is corrected outside of a window only if the window allows it.
func TestAccWindowsDrift(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	configure := func(windows string) {
		w.configure(t, s.provider(windows, on), s.bundle("one", "1"), target("", "fleet_bundle.one.bundles"))
	}
	configure("")
	w.apply(t)
	s.edit(t, 0, configMaps, "one", `{"data": {"key": "edited"}}`)
	configure(closed(""))
	w.reports(t, []string{"apply", "-auto-approve", "-input=false"}, "deployments are held", "held until")
	if got := s.value(t, 0, "one"); got != "edited" {
		t.Errorf("the drift was corrected to %q", got)
	}
	configure(closed(", correct_drift = true"))
	w.apply(t)
	if got := s.value(t, 0, "one"); got != "1" {
		t.Errorf("the drift was not corrected: %q", got)
	}
}

// A plan that was saved while a window was open is applied after the window has closed. Nothing is
// written, and the error requests a new plan. Before Terraform 1.16 Terraform itself stops a create.
func TestAccWindowsSavedPlan(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		// before is what is deployed, and after what is planned, by bundle.
		before, after map[string]string
		args          []string
		want          []string
	}{
		"update": {
			before: map[string]string{"one": "1", "two": "1"}, after: map[string]string{"one": "2"},
			want: []string{"held: a/one, a/two", "the plan is from a time at which changes were allowed", "by window short", "Plan again"},
		},
		"destroy": {
			before: map[string]string{"one": "1", "two": "1"}, after: map[string]string{"one": "1", "two": "1"}, args: []string{"-destroy"},
			want: []string{"held: a/one, a/two", "the plan is from a time at which changes were allowed", "by window short"},
		},
		"create": {
			after: map[string]string{"one": "1"},
			want:  []string{"held: a/one", "the plan is from a time at which changes were allowed", "by window short", "Plan again"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
			configure := func(windows string, values map[string]string) {
				parts, bundles := []string{s.provider(windows, on)}, []string{}
				for _, bundle := range slices.Sorted(maps.Keys(values)) {
					parts, bundles = append(parts, s.bundle(bundle, values[bundle])), append(bundles, "fleet_bundle."+bundle+".bundles")
				}
				w.configure(t, append(parts, target("", bundles...))...)
			}
			if len(test.before) > 0 {
				configure("", test.before)
				w.apply(t)
			}
			closes := w.savePlan(t, func(schedule string) { configure(schedule, test.after) }, test.args)
			if len(test.before) == 0 && !w.keepsPrivateData(t) {
				test.want = []string{"Provider produced inconsistent final plan"}
			}
			time.Sleep(time.Until(closes)) // The clock is the condition.
			w.fail(t, []string{"apply", "-input=false", "saved"}, test.want...)
			s.expectReleases(t, 0, slices.Sorted(maps.Keys(test.before))...)
			if len(test.before) > 0 && s.value(t, 0, "one") != "1" {
				t.Errorf("the deployment was changed to %q", s.value(t, 0, "one"))
			}
		})
	}
}

// savePlan saves a plan in a window that closes soon after, and returns when it closes. Fleet's
// Schedule has seconds, so the wait is short.
func (w *workspace) savePlan(t *testing.T, configure func(schedule string), args []string) time.Time {
	t.Helper()
	for open := 10 * time.Second; open < time.Minute; open *= 2 {
		closes := time.Now().UTC().Truncate(time.Second).Add(open)
		opens := closes.Add(-time.Minute)
		configure(fmt.Sprintf("  fleet_schedules = [yamlencode({ apiVersion = \"fleet.cattle.io/v1alpha1\", kind = \"Schedule\", metadata = { name = \"short\" }, "+
			"spec = { schedule = \"%d %d %d * * ?\", duration = \"1m\", targets = { clusters = [{ clusterName = \"a\" }] } } })]\n", opens.Second(), opens.Minute(), opens.Hour()))
		output, err := w.try(t, append([]string{"plan", "-input=false", "-out=saved"}, args...)...)
		if err == nil && time.Now().Before(closes) && !strings.Contains(output, "held") {
			return closes
		}
	}
	t.Fatal("no plan was made within 40 seconds")
	return time.Time{}
}

// reports runs a command that must succeed and print all of want.
func (w *workspace) reports(t *testing.T, args []string, want ...string) {
	t.Helper()
	text := unwrapped(w.run(t, args...))
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("terraform %s does not say %q:\n%s", strings.Join(args, " "), part, text)
		}
	}
}
