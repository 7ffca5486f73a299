package deploy_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/google/go-cmp/cmp"
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
		want          deploy.PlannedRecord
	}{
		"waited for":         {wanted: deployment("c1", "web", "v1-new"), wait: true, want: deploy.PlannedRecord{IsWritten: true, Record: deploy.Record{State: status.Ready}}},
		"not waited for":     {wanted: deployment("c1", "web", "v1-new"), want: deploy.PlannedRecord{IsWritten: true, ReadinessUnknown: true, Record: deploy.Record{State: status.Ready}}},
		"atomic":             {wanted: atomic, want: deploy.PlannedRecord{IsWritten: true, Record: deploy.Record{State: status.Ready}}},
		"labelled again":     {wanted: reportOnly(deployment("c1", "web", "v1-old")), relabel: true, want: deploy.PlannedRecord{IsWritten: true, Record: deploy.Record{State: status.Modified, Message: "why", Counts: prior.Counts}}},
		"kept, not as it is": {wanted: reportOnly(deployment("c1", "web", "v1-old")), want: deploy.PlannedRecord{Record: deploy.Record{State: status.Modified, Message: "why", Counts: prior.Counts}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := deploy.Facts{Charts: renders, Reach: reach{}, Wait: test.wait, Relabel: test.relabel}
			plan := deploy.NewPlan(t.Context(), deploy.Desired{Deployments: []target.Deployment{test.wanted}}, map[deploy.Key]deploy.Record{key("c1", "web"): prior}, facts)
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
