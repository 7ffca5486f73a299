package window_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/window"
)

const berlin = "Europe/Berlin"

// nightly is open for six hours from 22:00 in Berlin, for all deployments.
func nightly() window.Specification {
	return window.Specification{Name: "nightly", Effect: window.Allow, Cron: "0 22 * * *", Duration: "6h", TimeZone: berlin, Clusters: window.Clusters{All: true}}
}

func with(s window.Specification, change func(*window.Specification)) window.Specification {
	change(&s)
	return s
}

func clusters() []target.Cluster {
	return []target.Cluster{
		{Name: "prod", Namespace: "fleet-default", Labels: map[string]string{"env": "prod"}},
		{Name: "dev", Namespace: "fleet-default", Labels: map[string]string{"env": "dev"}},
	}
}

func decisions(t *testing.T, now string, windows ...window.Specification) *window.Decisions {
	t.Helper()
	at, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	groups := []target.Group{{Name: "critical", Selector: fleetyaml.Selector{MatchLabels: map[string]string{"env": "prod"}}}}
	decided, err := window.At(at, windowsOf(t, windows...), clusters(), groups)
	if err != nil {
		t.Fatal(err)
	}
	return decided
}

func windowsOf(t *testing.T, windows ...window.Specification) []window.Window {
	t.Helper()
	made := make([]window.Window, len(windows))
	for i, s := range windows {
		var err error
		if made[i], err = window.New(s); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// The times are at the borders of a window.
func TestClosed(t *testing.T) {
	t.Parallel()
	at := func(cron, duration string) window.Specification {
		return with(nightly(), func(s *window.Specification) { s.Cron, s.Duration = cron, duration })
	}
	freeze := func(cron, duration string) window.Specification {
		return with(at(cron, duration), func(s *window.Specification) { s.Name, s.Effect = "freeze", window.Deny })
	}
	weekend := with(nightly(), func(s *window.Specification) {
		s.Name, s.Cron, s.Days, s.Start = "weekend", "", []string{"sat", "sun"}, "08:00"
	})
	tests := map[string]struct {
		now     string
		windows []window.Specification
		want    string // "" for open
	}{
		"no window":                                {now: "2026-11-24T12:00:00Z"},
		"before the window":                        {now: "2026-11-24T20:59:59Z", windows: []window.Specification{nightly()}, want: "held until Tue 2026-11-24 22:00 CET by window nightly"},
		"at the first moment":                      {now: "2026-11-24T21:00:00Z", windows: []window.Specification{nightly()}},
		"over midnight":                            {now: "2026-11-25T01:00:00Z", windows: []window.Specification{nightly()}},
		"five minutes before the end":              {now: "2026-11-25T02:55:00Z", windows: []window.Specification{nightly()}},
		"in the last moment":                       {now: "2026-11-25T02:59:59.999Z", windows: []window.Specification{nightly()}},
		"at the end":                               {now: "2026-11-25T03:00:00Z", windows: []window.Specification{nightly()}, want: "held until Wed 2026-11-25 22:00 CET by window nightly"},
		"by days of the week":                      {now: "2026-11-27T12:00:00Z", windows: []window.Specification{weekend}, want: "held until Sat 2026-11-28 08:00 CET by window weekend"},
		"on a day of the week":                     {now: "2026-11-29T08:00:00Z", windows: []window.Specification{weekend}},
		"denied":                                   {now: "2026-11-24T21:30:00Z", windows: []window.Specification{freeze("0 22 * * *", "1h")}, want: "held until Tue 2026-11-24 23:00 CET by window freeze"},
		"not denied any more":                      {now: "2026-11-24T22:00:00Z", windows: []window.Specification{freeze("0 22 * * *", "1h")}},
		"denied while allowed":                     {now: "2026-11-24T21:30:00Z", windows: []window.Specification{nightly(), freeze("0 22 * * *", "1h")}, want: "held until Tue 2026-11-24 23:00 CET by window freeze"},
		"allowed only when the denial is over":     {now: "2026-11-24T20:00:00Z", windows: []window.Specification{nightly(), freeze("0 22 * * *", "1h")}, want: "held until Tue 2026-11-24 23:00 CET by window nightly"},
		"denied until the next allowance":          {now: "2026-11-24T21:30:00Z", windows: []window.Specification{nightly(), freeze("0 22 24 11 *", "7h")}, want: "held until Wed 2026-11-25 22:00 CET by window freeze"},
		"two allowances":                           {now: "2026-11-28T12:00:00Z", windows: []window.Specification{nightly(), weekend}},
		"denials that touch":                       {now: "2026-11-24T21:30:00Z", windows: []window.Specification{freeze("0 22,23 * * *", "1h")}, want: "held until Wed 2026-11-25 00:00 CET by window freeze"},
		"longer than the interval":                 {now: "2026-11-24T12:00:00Z", windows: []window.Specification{at("0 22 * * *", "30h")}},
		"a denial longer than the interval":        {now: "2026-11-24T12:00:00Z", windows: []window.Specification{freeze("0 22 * * *", "30h")}, want: "held by window freeze, and no time is known at which changes are allowed"},
		"a denial of a year":                       {now: "2026-11-24T12:00:00Z", windows: []window.Specification{freeze("0 0 1 1 *", "8760h")}, want: "held until Sun 2028-12-31 00:00 CET by window freeze"},
		"an allowance that is always denied":       {now: "2026-11-24T12:00:00Z", windows: []window.Specification{nightly(), freeze("* * * * *", "1m")}, want: "held by window freeze, and no time is known at which changes are allowed"},
		"a day of a leap year":                     {now: "2026-11-24T12:00:00Z", windows: []window.Specification{at("0 0 29 2 *", "1h")}, want: "held until Tue 2028-02-29 00:00 CET by window nightly"},
		"summer time begins before it opens":       {now: "2026-03-29T00:30:00Z", windows: []window.Specification{at("0 3 * * *", "1h")}, want: "held until Sun 2026-03-29 03:00 CEST by window nightly"},
		"it opens in the hour that is skipped":     {now: "2026-03-29T00:59:59Z", windows: []window.Specification{at("30 2 * * *", "1h")}, want: "held until Sun 2026-03-29 03:00 CEST by window nightly"},
		"opened by the hour that was skipped":      {now: "2026-03-29T01:59:59Z", windows: []window.Specification{at("30 2 * * *", "1h")}},
		"an hour after the hour that was skipped":  {now: "2026-03-29T02:00:00Z", windows: []window.Specification{at("30 2 * * *", "1h")}, want: "held until Mon 2026-03-30 02:30 CEST by window nightly"},
		"open while summer time begins":            {now: "2026-03-29T02:59:59Z", windows: []window.Specification{at("0 22 * * *", "6h")}, want: ""},
		"closed after six hours, at 05:00":         {now: "2026-03-29T03:00:00Z", windows: []window.Specification{at("0 22 * * *", "6h")}, want: "held until Sun 2026-03-29 22:00 CEST by window nightly"},
		"before the hour that is repeated":         {now: "2026-10-25T00:29:59Z", windows: []window.Specification{at("30 2 * * *", "30m")}, want: "held until Sun 2026-10-25 02:30 CEST by window nightly"},
		"in the hour that is repeated, the first":  {now: "2026-10-25T00:30:00Z", windows: []window.Specification{at("30 2 * * *", "30m")}},
		"in the hour that is repeated, between":    {now: "2026-10-25T01:00:00Z", windows: []window.Specification{at("30 2 * * *", "30m")}, want: "held until Mon 2026-10-26 02:30 CET by window nightly"},
		"in the hour that is repeated, the second": {now: "2026-10-25T01:30:00Z", windows: []window.Specification{at("30 2 * * *", "30m")}, want: "held until Mon 2026-10-26 02:30 CET by window nightly"},
		"closed after six hours, at 03:00":         {now: "2026-10-25T02:00:00Z", windows: []window.Specification{at("0 22 * * *", "6h")}, want: "held until Sun 2026-10-25 22:00 CET by window nightly"},
		"open while summer time ends":              {now: "2026-10-25T01:59:59Z", windows: []window.Specification{at("0 22 * * *", "6h")}},
		"a day that a zone has skipped":            {now: "2011-12-29T12:00:00Z", windows: []window.Specification{with(at("0 12 30 12 *", "1h"), func(s *window.Specification) { s.TimeZone = "Pacific/Apia" })}, want: "held until Sat 2011-12-31 00:00 +14 by window nightly"},
		"UTC is the default":                       {now: "2026-11-24T21:30:00Z", windows: []window.Specification{with(nightly(), func(s *window.Specification) { s.TimeZone = "" })}, want: "held until Tue 2026-11-24 22:00 UTC by window nightly"},
		"a window of other clusters": {now: "2026-11-24T12:00:00Z", windows: []window.Specification{with(nightly(), func(s *window.Specification) {
			s.Clusters = window.Clusters{Rules: []target.Rule{{ClusterName: "dev"}}}
		})}},
		"a window of the cluster by name": {now: "2026-11-24T12:00:00Z", windows: []window.Specification{with(nightly(), func(s *window.Specification) {
			s.Clusters = window.Clusters{Rules: []target.Rule{{ClusterName: "prod"}}}
		})}, want: "nightly"},
		"a window of the cluster by its labels": {now: "2026-11-24T12:00:00Z", windows: []window.Specification{with(nightly(), func(s *window.Specification) {
			s.Clusters = window.Clusters{Rules: []target.Rule{{ClusterSelector: &fleetyaml.Selector{MatchLabels: map[string]string{"env": "prod"}}}}}
		})}, want: "nightly"},
		"a window of the cluster by its group": {now: "2026-11-24T12:00:00Z", windows: []window.Specification{with(nightly(), func(s *window.Specification) {
			s.Clusters = window.Clusters{Rules: []target.Rule{{ClusterGroup: "critical"}}}
		})}, want: "nightly"},
		"a window of no cluster":         {now: "2026-11-24T12:00:00Z", windows: []window.Specification{with(nightly(), func(s *window.Specification) { s.Clusters = window.Clusters{} })}},
		"a window of the bundle by name": {now: "2026-11-24T12:00:00Z", windows: []window.Specification{with(nightly(), func(s *window.Specification) { s.Bundles.Names = []string{"db", "web"} })}, want: "nightly"},
		"a window of another bundle":     {now: "2026-11-24T12:00:00Z", windows: []window.Specification{with(nightly(), func(s *window.Specification) { s.Bundles.Names = []string{"db"} })}},
		"a window of the bundle by its labels": {now: "2026-11-24T12:00:00Z", windows: []window.Specification{with(nightly(), func(s *window.Specification) {
			s.Bundles.Selector = &fleetyaml.Selector{MatchLabels: map[string]string{"tier": "front"}}
		})}, want: "nightly"},
		"a window of bundles with other labels": {now: "2026-11-24T12:00:00Z", windows: []window.Specification{with(nightly(), func(s *window.Specification) {
			s.Bundles.Selector = &fleetyaml.Selector{MatchLabels: map[string]string{"tier": "back"}}
		})}},
		"a window of the name, but with other labels": {now: "2026-11-24T12:00:00Z", windows: []window.Specification{with(nightly(), func(s *window.Specification) {
			s.Bundles = window.Bundles{Names: []string{"web"}, Selector: &fleetyaml.Selector{MatchLabels: map[string]string{"tier": "back"}}}
		})}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := decisions(t, test.now, test.windows...).Closed("prod", window.Bundle{Name: "web", Labels: map[string]string{"tier": "front"}}, false)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.want && (test.want == "" || !strings.HasSuffix(got, " by window "+test.want)) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Missing information about a deployment counts as if the window concerned it.
func TestClosedOfUnknownDeployments(t *testing.T) {
	t.Parallel()
	const day, night = "2026-11-24T12:00:00Z", "2026-11-24T22:00:00Z"
	ofLabels := with(nightly(), func(s *window.Specification) {
		s.Bundles.Selector = &fleetyaml.Selector{MatchLabels: map[string]string{"tier": "front"}}
	})
	ofProd := with(nightly(), func(s *window.Specification) {
		s.Clusters = window.Clusters{Rules: []target.Rule{{ClusterName: "prod"}}}
	})
	byDay := with(nightly(), func(s *window.Specification) { s.Name, s.Cron = "daily", "0 10 * * *" })
	tests := map[string]struct {
		now        string
		cluster    string
		windows    []window.Specification
		wantClosed bool
	}{
		"labels that are not known":                  {now: day, cluster: "prod", windows: []window.Specification{ofLabels}, wantClosed: true},
		"labels that are not known, open":            {now: night, cluster: "prod", windows: []window.Specification{ofLabels}},
		"open perhaps, and closed":                   {now: night, cluster: "prod", windows: []window.Specification{ofLabels, byDay}, wantClosed: true},
		"open, and closed perhaps":                   {now: day, cluster: "prod", windows: []window.Specification{ofLabels, byDay}},
		"a cluster that is not configured":           {now: day, cluster: "gone", windows: []window.Specification{ofProd}, wantClosed: true},
		"a cluster that is not configured, open":     {now: night, cluster: "gone", windows: []window.Specification{ofProd}},
		"a window of all clusters, not configured":   {now: day, cluster: "gone", windows: []window.Specification{nightly()}, wantClosed: true},
		"a bundle of another name, labels not known": {now: day, cluster: "prod", windows: []window.Specification{with(ofLabels, func(s *window.Specification) { s.Bundles.Names = []string{"db"} })}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := decisions(t, test.now, test.windows...).Closed(test.cluster, window.Bundle{Name: "web"}, false)
			if (err != nil) != test.wantClosed {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A window that corrects drift holds other changes only.
func TestClosedForDrift(t *testing.T) {
	t.Parallel()
	correcting := with(nightly(), func(s *window.Specification) { s.CorrectsDrift = true })
	d := decisions(t, "2026-11-24T12:00:00Z", correcting)
	if err := d.Closed("prod", window.Bundle{Name: "web"}, true); err != nil {
		t.Errorf("drift is held: %v", err)
	}
	if d.Closed("prod", window.Bundle{Name: "web"}, false) == nil {
		t.Error("a change is not held")
	}
	if err := decisions(t, "2026-11-24T12:00:00Z", nightly()).Closed("prod", window.Bundle{Name: "web"}, true); err == nil {
		t.Error("drift is not held by a window that does not correct it")
	}
}

// A decision is the same until a window opens or closes.
func TestIsSame(t *testing.T) {
	t.Parallel()
	nights := windowsOf(t, nightly())
	freeze := windowsOf(t, with(nightly(), func(s *window.Specification) { s.Effect = window.Deny }))
	always := windowsOf(t, with(nightly(), func(s *window.Specification) { s.Cron = "* * * * *" }))
	parse := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	tests := map[string]struct {
		windows []window.Window
		a, b    string
		want    bool
	}{
		"closed until the same time":          {windows: nights, a: "2026-11-24T03:00:00Z", b: "2026-11-24T20:59:59Z", want: true},
		"open at the later time":              {windows: nights, a: "2026-11-24T03:00:00Z", b: "2026-11-24T21:00:00Z"},
		"open at both":                        {windows: nights, a: "2026-11-24T21:00:00Z", b: "2026-11-25T02:59:59Z", want: true},
		"open in two nights":                  {windows: nights, a: "2026-11-24T21:00:00Z", b: "2026-11-25T21:00:00Z", want: true},
		"closed until another time":           {windows: nights, a: "2026-11-24T12:00:00Z", b: "2026-11-25T12:00:00Z"},
		"opened again while it allows":        {windows: always, a: "2026-11-24T12:00:00Z", b: "2026-11-24T12:05:00Z", want: true},
		"denied until the same time":          {windows: freeze, a: "2026-11-24T21:00:00Z", b: "2026-11-25T02:59:59Z", want: true},
		"denied until another time":           {windows: freeze, a: "2026-11-24T21:00:00Z", b: "2026-11-25T21:00:00Z"},
		"not denied, although it was between": {windows: freeze, a: "2026-11-24T12:00:00Z", b: "2026-11-25T12:00:00Z", want: true},
		"denied at the later time":            {windows: freeze, a: "2026-11-24T12:00:00Z", b: "2026-11-24T21:00:00Z"},
	}
	for name, test := range tests {
		if got := window.IsSame(test.windows, parse(test.a), parse(test.b)); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestInvalidWindows(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*window.Specification)
		want   string
	}{
		"another effect":            {change: func(s *window.Specification) { s.Effect = "block" }, want: `effect: "block" is neither allow nor deny`},
		"no times":                  {change: func(s *window.Specification) { s.Cron = "" }, want: "needs either cron or weekly"},
		"both":                      {change: func(s *window.Specification) { s.Start = "22:00" }, want: "needs either cron or weekly"},
		"no cron":                   {change: func(s *window.Specification) { s.Cron = "tomorrow" }, want: `cannot read "tomorrow"`},
		"six fields":                {change: func(s *window.Specification) { s.Cron = "0 0 22 * * *" }, want: "cannot read"},
		"a descriptor":              {change: func(s *window.Specification) { s.Cron = "@daily" }, want: "cannot read"},
		"no fixed times":            {change: func(s *window.Specification) { s.Cron = "@every 1h" }, want: "@every has no fixed times"},
		"a zone in cron":            {change: func(s *window.Specification) { s.Cron = "TZ=UTC" }, want: "a time zone does not belong there"},
		"a day that does not exist": {change: func(s *window.Specification) { s.Cron = "0 0 30 2 *" }, want: "is a day that does not exist"},
		"no duration":               {change: func(s *window.Specification) { s.Duration = "" }, want: "duration: \"\" is no duration"},
		"a negative duration":       {change: func(s *window.Specification) { s.Duration = "-1h" }, want: "less than a minute"},
		"a short duration":          {change: func(s *window.Specification) { s.Duration = "59s" }, want: "less than a minute"},
		"a long duration":           {change: func(s *window.Specification) { s.Duration = "8785h" }, want: "more than 366 days"},
		"a zone that is unknown":    {change: func(s *window.Specification) { s.TimeZone = "Europe/Atlantis" }, want: `time_zone: "Europe/Atlantis" is not in the database of time zones`},
		"the zone of the machine":   {change: func(s *window.Specification) { s.TimeZone = "Local" }, want: `"Local" is different on each machine`},
		"a file as a zone":          {change: func(s *window.Specification) { s.TimeZone = "../../etc/passwd" }, want: "is not in the database of time zones"},
		"another day":               {change: func(s *window.Specification) { s.Cron, s.Start, s.Days = "", "22:00", []string{"sunday"} }, want: `"sunday" in days is not one of sun, mon`},
		"no days":                   {change: func(s *window.Specification) { s.Cron, s.Start = "", "22:00" }, want: "days is empty"},
		"another time of day":       {change: func(s *window.Specification) { s.Cron, s.Start, s.Days = "", "24:00", []string{"sun"} }, want: `start "24:00" is no time of day`},
		"a broken selector": {change: func(s *window.Specification) {
			s.Bundles.Selector = &fleetyaml.Selector{MatchLabels: map[string]string{"a b": "c"}}
		}, want: "bundle_selector: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := window.New(with(nightly(), test.change))
			if _, ok := errors.AsType[*window.InvalidError](err); !ok || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	made, err := window.New(with(nightly(), func(s *window.Specification) {
		s.Clusters = window.Clusters{Rules: []target.Rule{{ClusterName: "prdo"}}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := window.At(time.Time{}, []window.Window{made}, clusters(), nil); err == nil || !strings.Contains(err.Error(), "prdo") {
		t.Errorf("a cluster that does not exist: %v", err)
	}
}
