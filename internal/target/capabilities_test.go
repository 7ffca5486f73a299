package target_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func TestCapabilitiesCompleted(t *testing.T) {
	t.Parallel()
	before := target.Capabilities{Version: "v1.1.0", APIs: []string{"apps/v1", "apps/v1/Deployment", "metrics/v1", "metrics/v1/Pod", "metrics/v10"}}
	tests := map[string]struct {
		now  target.Capabilities
		want []string
	}{
		"all answer":      {target.Capabilities{APIs: []string{"apps/v1"}}, []string{"apps/v1"}},
		"one is silent":   {target.Capabilities{APIs: []string{"apps/v1", "metrics/v1"}, Silent: []string{"metrics/v1"}}, []string{"apps/v1", "metrics/v1", "metrics/v1/Pod"}},
		"not even listed": {target.Capabilities{APIs: []string{"apps/v1"}, Silent: []string{"metrics/v1"}}, []string{"apps/v1", "metrics/v1", "metrics/v1/Pod"}},
		"one more":        {target.Capabilities{APIs: []string{"new/v1"}, Silent: []string{"new/v1"}}, []string{"new/v1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.now.Completed(before).APIs); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
