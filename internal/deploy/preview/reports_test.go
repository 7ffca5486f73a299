package preview

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A repeated plan reports neither values nor differences. Only a target with diff = "rendered"
// shows the differences of a new deployment.
func TestReports(t *testing.T) {
	t.Parallel()
	nobody := func(string) (run.Cluster, error) { return nil, errors.New("nobody is asked") }
	preview := &Preview{
		Connect:     func(string) (Cluster, error) { return nil, errors.New("nobody is asked") },
		Connectable: func(string) bool { return false }, Runner: run.New(nobody, 1), Snapshots: &SnapshotCache{}, Parallelism: 1,
		Former: func(string, string) []release.Known { return nil },
	}
	d := target.Deployment{
		Cluster: "a", Bundle: &bundle.Bundle{Name: "web"}, Release: "web", Namespace: "ns", Digest: "new",
		Options: fleetyaml.Options{Helm: &fleetyaml.Helm{ValuesFrom: []fleetyaml.ValuesFrom{{SecretKeyRef: &fleetyaml.KeyRef{Name: "values", Namespace: "ns"}}}}},
	}
	planned := &plan.Plan{Change: plan.Change{Write: []target.Deployment{d}}}
	versions := map[string]deploy.Versions{"a": {}}
	for _, reference := range d.References() {
		versions["a"][reference] = "" // The last refresh did not find it.
	}
	tests := map[string]struct {
		request       Request
		values, diffs bool
	}{
		"first time": {request: Request{Versions: versions}, values: true},
		"with diff":  {request: Request{Versions: versions, Diff: plan.DiffRendered}, values: true, diffs: true},
		"brief diff": {request: Request{Versions: versions, Diff: plan.DiffAuto}, values: true},
		"repeated":   {request: Request{Versions: versions, Diff: plan.DiffRendered, IsRepeated: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := preview.Reports(t.Context(), planned, test.request)
			want := map[string][]string{}
			if test.values {
				want[d.References()[0].String()] = []string{"a/web"}
			}
			if diff := cmp.Diff(want, found.MissingValues, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("missing values (-want +got):\n%s", diff)
			}
			if shown := !found.Diff.NotCompared.IsEmpty() || len(found.Diff.Diffs) > 0; shown != test.diffs {
				t.Errorf("diff %+v", found.Diff)
			}
		})
	}
}
