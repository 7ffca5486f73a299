package window_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/window"
)

const scheduleYAML = `apiVersion: fleet.cattle.io/v1alpha1
kind: Schedule
metadata: {name: nightly, namespace: fleet-default, labels: {team: a}}
spec:
  schedule: "0 0 22 ? * MON-FRI"
  duration: 6h
  location: Europe/Berlin
  targets:
    clusters:
    - {name: production, clusterSelector: {matchLabels: {env: prod}}, clusterName: null}
    - clusterName: elsewhere
status: {active: true}
`

func TestReadSchedule(t *testing.T) {
	t.Parallel()
	read, err := window.ReadSchedule(scheduleYAML)
	if err != nil {
		t.Fatal(err)
	}
	at := func(now time.Time) *window.Decisions {
		decided, err := window.At(now, []window.Window{read}, clusters(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return decided
	}
	friday := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	err = at(friday).Closed("prod", window.Bundle{Name: "web"}, true)
	if want := "held until Mon 2026-11-30 22:00 CET by window nightly"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := at(friday.Add(60*time.Hour)).Closed("prod", window.Bundle{Name: "web"}, false); err != nil {
		t.Errorf("it is open on Tuesday at 01:00: %v", err)
	}
	if err := at(friday).Closed("dev", window.Bundle{Name: "web"}, false); err != nil {
		t.Errorf("it holds another cluster: %v", err)
	}
}

// Each row changes one field of the Schedule, and has the wanted decision for the cluster prod.
func TestScheduleFields(t *testing.T) {
	t.Parallel()
	const production = "{name: production, clusterSelector: {matchLabels: {env: prod}}, clusterName: null}"
	tests := map[string]struct{ from, to, want string }{
		"metadata.name":                         {from: "name: nightly", to: "name: weekly", want: "held until Mon 2026-11-30 22:00 CET by window weekly"},
		"metadata.namespace, another workspace": {from: "fleet-default", to: "fleet-other"},
		"spec.location":                         {from: "Europe/Berlin", to: "America/New_York", want: "held until Mon 2026-11-30 22:00 EST by window nightly"},
		"no spec.location":                      {from: "  location: Europe/Berlin\n", want: "held until Mon 2026-11-30 22:00 UTC by window nightly"},
		"spec.targets, by name":                 {from: production, to: "clusterName: prod", want: "held until Mon 2026-11-30 22:00 CET by window nightly"},
		"spec.targets, without the cluster":     {from: production, to: "clusterName: dev"},
		"spec.targets, a name of no cluster":    {from: production, to: "clusterName: nowhere"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(scheduleYAML, test.from) {
				t.Fatalf("the Schedule has no %q", test.from)
			}
			read, err := window.ReadSchedule(strings.Replace(scheduleYAML, test.from, test.to, 1))
			if err != nil {
				t.Fatal(err)
			}
			at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
			decided, err := window.At(at, []window.Window{read}, clusters(), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := decided.Closed("prod", window.Bundle{Name: "web"}, false); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSchedulesThatAreRefused(t *testing.T) {
	t.Parallel()
	at := func(schedule string) string { return strings.Replace(scheduleYAML, "0 0 22 ? * MON-FRI", schedule, 1) }
	tests := map[string]struct{ text, want string }{
		"not YAML":            {text: "{", want: ""},
		"another kind":        {text: strings.Replace(scheduleYAML, "kind: Schedule", "kind: Bundle", 1), want: `kind "Bundle"`},
		"another group":       {text: strings.Replace(scheduleYAML, "fleet.cattle.io", "example.com", 1), want: "is not Schedule of fleet.cattle.io/v1alpha1"},
		"an unknown field":    {text: strings.Replace(scheduleYAML, "  duration:", "  length: 1h\n  duration:", 1), want: `unknown field "length"`},
		"two documents":       {text: scheduleYAML + "---\n" + scheduleYAML, want: "more than one YAML document"},
		"no name":             {text: strings.Replace(scheduleYAML, "name: nightly", "generateName: nightly", 1), want: "metadata.name"},
		"a name with control": {text: strings.Replace(scheduleYAML, "name: nightly", `name: "a\e[31m"`, 1), want: "metadata.name"},
		"a long name":         {text: strings.Replace(scheduleYAML, "name: nightly", "name: "+strings.Repeat("a", 254), 1), want: "metadata.name"},
		"too large":           {text: scheduleYAML + strings.Repeat("#", 70<<10), want: "larger than the limit of 64 KiB"},
		"aliases":             {text: "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", want: "alias"},
		"five fields":         {text: at("0 22 * * *"), want: "5 fields, and Fleet has six"},
		"a year":              {text: at("0 0 22 ? * MON 2027"), want: "a year is not supported"},
		"both days":           {text: at("0 0 22 1 * MON"), want: "either the day of month or the day of week"},
		"numbers of days":     {text: at("0 0 22 ? * 2-6"), want: "numbers of days of the week are not supported"},
		"the last day":        {text: at("0 0 22 L * ?"), want: "L, W and # are not supported"},
		"the third Friday":    {text: at("0 0 22 ? * FRI#3"), want: "L, W and # are not supported"},
		"the last Friday":     {text: at("0 0 22 ? * FRIL"), want: "L, W and # are not supported"},
		"no fixed times":      {text: at("@every 1h"), want: "@every has no fixed times"},
		"no zone":             {text: strings.Replace(scheduleYAML, "Europe/Berlin", "Local", 1), want: `spec.location: "Local" is different`},
		"a broken selector":   {text: strings.Replace(scheduleYAML, "{env: prod}", `{"a b": prod}`, 1), want: "spec.targets.clusters"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := window.ReadSchedule(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, schedule := range []string{"0 0 22 ? * MON-FRI", "0 0 22 1,15 * ?", "0 0/30 22 * * *", "30 0 22 ? * sat,sun *", "@daily"} {
		if _, err := window.ReadSchedule(at(schedule)); err != nil {
			t.Errorf("%q: %v", schedule, err)
		}
	}
}

func FuzzReadSchedule(f *testing.F) {
	f.Add(scheduleYAML)
	f.Add(strings.Replace(scheduleYAML, "0 0 22 ? * MON-FRI", "@weekly", 1))
	f.Add(strings.Replace(scheduleYAML, "0 0 22 ? * MON-FRI", "*/9223372036854775807 1-59/2 22 ? * ?", 1))
	f.Fuzz(func(t *testing.T, text string) {
		read, err := window.ReadSchedule(text)
		if err != nil {
			return
		}
		now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
		decided, err := window.At(now, []window.Window{read}, clusters(), nil)
		if err != nil {
			t.Fatalf("read, but: %v", err)
		}
		if err := decided.Closed("prod", window.Bundle{Name: "web"}, false); err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("control characters in %q", err)
		}
	})
}
