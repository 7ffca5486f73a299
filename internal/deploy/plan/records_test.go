package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A plan has the record that a successful apply leaves.
func TestPlannedRecords(t *testing.T) {
	t.Parallel()
	atomic := deployment("c1", "web", "v1-new")
	atomic.Options.Helm = &fleetyaml.Helm{Atomic: true}
	prior := deploy.Record{
		Release: "web", Namespace: "ns", Digest: "v1-old", Objects: map[string]string{"ConfigMap/ns/web": "0"},
		State: status.Modified, Message: "why", Counts: status.Counts{Ready: 1, Modified: 1},
	}
	renders := charts{renderings: map[string]release.Rendering{"web": {Chart: "web", Version: "2.0.0"}}}
	tests := map[string]struct {
		wanted        target.Deployment
		wait, relabel bool
		want          plan.Record
	}{
		"waited for":         {wanted: deployment("c1", "web", "v1-new"), wait: true, want: plan.Record{IsWritten: true, Record: deploy.Record{State: status.Ready}}},
		"not waited for":     {wanted: deployment("c1", "web", "v1-new"), want: plan.Record{IsWritten: true, ReadinessUnknown: true, Record: deploy.Record{State: status.Ready}}},
		"atomic":             {wanted: atomic, want: plan.Record{IsWritten: true, Record: deploy.Record{State: status.Ready}}},
		"labelled again":     {wanted: reportOnly(deployment("c1", "web", "v1-old")), relabel: true, want: plan.Record{IsWritten: true, Record: deploy.Record{State: status.Modified, Message: "why", Counts: prior.Counts}}},
		"kept, not as it is": {wanted: reportOnly(deployment("c1", "web", "v1-old")), want: plan.Record{Record: deploy.Record{State: status.Modified, Message: "why", Counts: prior.Counts}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := plan.Facts{Charts: renders, Reach: reach{}, Wait: test.wait, Relabel: test.relabel}
			plan := plan.New(t.Context(), plan.Desired{Deployments: []target.Deployment{test.wanted}}, map[deploy.Key]deploy.Record{key("c1", "web"): prior}, facts)
			got := plan.Records()[key("c1", "web")]
			got.Record = deploy.Record{State: got.State, Message: got.Message, Counts: got.Counts}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// reportOnly does not correct drift.
func reportOnly(d target.Deployment) target.Deployment {
	d.Options.CorrectDrift = &fleetyaml.CorrectDrift{Enabled: new(false)}
	return d
}
