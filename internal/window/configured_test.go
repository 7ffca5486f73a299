package window_test

import (
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/window"
)

// The time that a refresh stores changes only if a decision changes. A plan uses the stored time.
func TestTimeOfChangeWindows(t *testing.T) {
	t.Parallel()
	nightly, err := window.New(window.Specification{Name: "nightly", Effect: window.Allow, Cron: "0 22 * * *", Duration: "6h", Clusters: window.Clusters{All: true}})
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	of := func(now time.Time, windows ...window.Window) window.Configured {
		return window.Configured{Windows: windows, Now: func() time.Time { return now }}
	}
	unknown := window.Configured{Unknown: true, Now: time.Now}
	tests := map[string]struct{ got, want time.Time }{
		"refresh without windows":             {got: of(noon).Refreshed(noon), want: time.Time{}},
		"refresh with unknown windows":        {got: unknown.Refreshed(noon), want: noon},
		"the first refresh":                   {got: of(noon.Add(time.Millisecond), nightly).Refreshed(time.Time{}), want: noon},
		"a refresh while nothing opens":       {got: of(noon.Add(9*time.Hour), nightly).Refreshed(noon), want: noon},
		"a refresh after a window has opened": {got: of(noon.Add(10*time.Hour), nightly).Refreshed(noon), want: noon.Add(10 * time.Hour)},
		"a plan":                              {got: of(noon.Add(10*time.Hour), nightly).TimeFor(noon), want: noon},
		"a plan without a refresh":            {got: of(noon, nightly).TimeFor(time.Time{}), want: noon},
		"a plan without windows":              {got: of(noon).TimeFor(time.Time{}), want: time.Time{}},
	}
	for name, test := range tests {
		if !test.got.Equal(test.want) {
			t.Errorf("%s: got %s, want %s", name, test.got, test.want)
		}
	}
}

// The reason of an override is part of the history only if there are windows.
func TestReasonInHistory(t *testing.T) {
	t.Parallel()
	of := func(target.Deployment) string { return "Terraform target all" }
	overridden := window.Configured{Windows: make([]window.Window, 1), Override: "INC-1"}
	if got, want := overridden.Description(of)(target.Deployment{}), "Terraform target all, change windows overridden: INC-1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	overridden.Windows = nil
	if got := overridden.Description(of)(target.Deployment{}); got != "Terraform target all" {
		t.Errorf("without windows: %q", got)
	}
}
