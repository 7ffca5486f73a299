package bundle_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

func TestChartText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ chart, version, want string }{
		"a chart":                           {"web", "1.0.0", "web-1.0.0"},
		"a chart with build metadata":       {"web", "v0.0.0+main", "web-v0.0.0+main"},
		"a chart that is made for a bundle": {"web", bundle.GeneratedVersion("v1-696edf59fe8e0a1b2c3d"), "web"},
		"no version":                        {"web", "", "web"},
		"nothing is known":                  {"", "", "-"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := bundle.ChartText(test.chart, test.version); got != test.want {
				t.Errorf("the text of %q in version %q is %q, want %q", test.chart, test.version, got, test.want)
			}
		})
	}
}
