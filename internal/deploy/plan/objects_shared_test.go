package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Two bundles of a target with one object on one cluster are an error of the plan, because an object
// belongs to one release.
func TestPlanFindsSharedObjects(t *testing.T) {
	t.Parallel()
	shared, own := diff.Object{Kind: "ConfigMap", Namespace: "ns", Name: "shared"}, diff.Object{Kind: "ConfigMap", Namespace: "ns", Name: "own"}
	generated := diff.Object{Kind: "Job", Group: "batch", Namespace: "ns", Name: "job-*"}
	of := func(objects ...diff.Object) release.Rendering {
		rendering := release.Rendering{Objects: objects}
		for _, object := range objects {
			rendering.Documents = append(rendering.Documents, diff.Document{Object: object, Content: "{}", Place: object.Name + ".yaml"})
		}
		return rendering
	}
	with := func(rendering release.Rendering, change func(*release.Rendering)) release.Rendering {
		change(&rendering)
		return rendering
	}
	const both = "bundles one and two both contain ConfigMap/ns/shared (one: shared.yaml:3, two: shared.yaml:3); an object belongs to one release, so remove it from one of the bundles"
	const kept = "bundles one and two both contain ConfigMap/ns/shared (two: shared.yaml:3); an object belongs to one release, so remove it from one of the bundles"
	stays := map[deploy.Key]deploy.Record{
		{Cluster: "a", Bundle: "one"}: {Release: "one", Namespace: "ns", Digest: "d", State: status.Ready, Objects: map[string]string{shared.Key(): "h"}},
	}
	tests := map[string]struct {
		one, two release.Rendering
		onOther  bool // The second bundle is on another cluster.
		paused   bool // The first bundle stays, and is not as wanted.
		prior    map[deploy.Key]deploy.Record
		want     []string
	}{
		"one object in both":         {one: of(shared, own), two: of(shared), want: []string{"a/two: " + both}},
		"other objects":              {one: of(own), two: of(shared)},
		"on another cluster":         {one: of(shared), two: of(shared), onOther: true},
		"a bundle that stays has it": {one: of(shared), two: of(shared), prior: stays, want: []string{"a/two: " + kept}},
		"a held bundle has it":       {one: of(shared), two: of(shared), prior: stays, paused: true},
		"names that can vary":        {one: of(shared), two: with(of(shared), func(r *release.Rendering) { r.NamesVary, r.Irreproducible = true, "it uses randAlpha" })},
		"names that are secret":      {one: of(shared), two: with(of(shared), func(r *release.Rendering) { r.HidesNames = true })},
		"generated names":            {one: of(generated), two: of(generated)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wanted := []target.Deployment{
				{Cluster: "a", Bundle: &bundle.Bundle{Name: "one"}, Release: "one", Namespace: "ns", Digest: "d", Paused: test.paused},
				{Cluster: "a", Bundle: &bundle.Bundle{Name: "two"}, Release: "two", Namespace: "ns", Digest: "d"},
			}
			if test.onOther {
				wanted[1].Cluster = "b"
			}
			if test.paused {
				wanted[0].Digest = "new"
			}
			plan := plan.New(t.Context(), plan.Desired{Deployments: wanted}, test.prior, plan.Facts{
				Charts: charts{renderings: map[string]release.Rendering{"one": test.one, "two": test.two}}, Reach: reach{},
			})
			var got []string
			for _, failure := range plan.Failures {
				got = append(got, failure.Cluster+"/"+failure.Bundle+": "+failure.Err.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
		})
	}
}
