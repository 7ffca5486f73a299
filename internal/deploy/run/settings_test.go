package run_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A bundle gets the time that it asks for, as far as it leaves time for the other deployments. The
// plan names each bundle that gets less.
func TestTimeoutOf(t *testing.T) {
	t.Parallel()
	hour := run.Settings{Timeout: 5 * time.Minute, Limit: time.Hour}
	tests := map[string]struct {
		seconds  int
		settings run.Settings
		want     time.Duration
		warning  string
	}{
		"none":                         {settings: hour, want: 5 * time.Minute},
		"negative":                     {seconds: math.MinInt, settings: hour, want: 5 * time.Minute},
		"less than that of the target": {seconds: 7, settings: hour, want: 7 * time.Second},
		"half of the apply":            {seconds: 1800, settings: hour, want: 30 * time.Minute},
		"more than half of the apply":  {seconds: 1801, settings: hour, want: 30 * time.Minute, warning: "\n  - bundle web: helm.timeoutSeconds is 1801: on c1"},
		"more than a duration":         {seconds: math.MaxInt, settings: hour, want: 30 * time.Minute, warning: fmt.Sprintf("\n  - bundle web: helm.timeoutSeconds is %d: on c1", math.MaxInt)},
		"a longer timeout of the target": {
			seconds: 2401, settings: run.Settings{Timeout: 40 * time.Minute, Limit: time.Hour}, want: 40 * time.Minute,
			warning: "\n  - bundle web: helm.timeoutSeconds is 2401: on c1",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deployment("c1", "web", "v1-a")
			d.Options.Helm = &fleetyaml.Helm{TimeoutSeconds: tt.seconds}
			found := tt.settings.ShortenedTimeouts([]target.Deployment{d})
			if diff := cmp.Diff([]string{tt.want.String(), tt.warning}, []string{tt.settings.TimeoutOf(d).String(), found.List()}); diff != "" {
				t.Errorf("timeout and warning (-want +got):\n%s", diff)
			}
		})
	}
}
