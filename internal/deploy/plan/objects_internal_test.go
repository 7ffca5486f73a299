package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func TestDeploysAfter(t *testing.T) {
	t.Parallel()
	needs := map[string][]string{"app": {"db", "queue"}, "db": {"operator"}, "queue": {"app"}, "other": {"db"}}
	if diff := cmp.Diff([]string{"app", "db", "operator", "queue"}, deploysAfter(needs, "app")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMayTakeOver(t *testing.T) {
	t.Parallel()
	taking := target.Deployment{}
	taking.Options.Helm = &fleetyaml.Helm{TakeOwnership: true}
	tests := map[string]struct {
		facts Facts
		of    target.Deployment
		want  bool
	}{
		"no consent":            {facts: Facts{Diff: DiffAuto}},
		"consent of the target": {facts: Facts{Diff: DiffAuto, TakesOver: true}, want: true},
		"consent of the bundle": {facts: Facts{Diff: DiffAuto}, of: taking, want: true},
		"nothing is compared":   {facts: Facts{Diff: DiffSummary, TakesOver: true}, of: taking},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.facts.mayTakeOver(test.of); got != test.want {
				t.Errorf("mayTakeOver = %t, want %t", got, test.want)
			}
		})
	}
}
