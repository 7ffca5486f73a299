package plan_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A pattern has an effect on what is wanted and on what is removed.
func TestUnmatchedConsent(t *testing.T) {
	t.Parallel()
	of, err := policy.NewDeployments([]string{"c1/web", "*/gone", "c3/*", "c1/w"})
	if err != nil {
		t.Fatal(err)
	}
	prior := map[deploy.Key]deploy.Record{key("c2", "gone"): {}}
	tests := map[string]struct {
		desired plan.Desired
		want    []string
	}{
		"wanted":         {desired: plan.Desired{Deployments: []target.Deployment{deployment("c1", "web", "v1-a")}}, want: []string{"c3/*", "c1/w"}},
		"broken":         {desired: plan.Desired{WithoutOptions: []target.Deployment{deployment("c3", "web", "v1-a")}}, want: []string{"c1/web", "c1/w"}},
		"cannot be read": {desired: plan.Desired{Unreadable: map[string]error{"w": errors.New("no chart")}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.desired.UnmatchedConsent(deploy.Consent{Of: of}, prior)); diff != "" {
				t.Errorf("unmatched (-want +got):\n%s", diff)
			}
		})
	}
}
