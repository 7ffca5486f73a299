package plan_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// recordingCharts note the capabilities that deployments are rendered with, by bundle.
type recordingCharts struct {
	charts

	with map[string]*target.Capabilities
}

func (c recordingCharts) Render(ctx context.Context, d target.Deployment) (release.Rendering, error) {
	c.with[d.Bundle.Name] = d.Capabilities
	return c.charts.Render(ctx, d)
}

// A plan renders deployments that depend on a bundle with definitions for a cluster that can serve
// more. An apply renders them for the cluster as it is after that bundle was written.
func TestCapabilitiesAfterDefinitions(t *testing.T) {
	t.Parallel()
	served := target.Capabilities{Version: "v1.34.0"}
	growing, fixed := served, target.Capabilities{Version: "v1.2.3", Fixed: true}
	growing.MayGrow = true
	named := func(name string, capabilities target.Capabilities, needs ...string) target.Deployment {
		b := &bundle.Bundle{Name: name}
		for _, needed := range needs {
			b.Definition.DependsOn = append(b.Definition.DependsOn, fleetyaml.Dependency{Name: needed})
		}
		return target.Deployment{Cluster: "a", Bundle: b, Release: name, Namespace: "ns", Digest: name, Capabilities: &capabilities}
	}
	wanted := func() plan.Desired {
		return plan.Desired{Deployments: []target.Deployment{
			named("crds", served), named("operator", served, "crds"), named("app", served, "operator"), named("fixed", fixed, "crds"), named("alone", served),
		}}
	}
	rendered := recordingCharts{charts: charts{brings: map[string]bool{"crds": true}}, with: map[string]*target.Capabilities{}}
	plan.New(t.Context(), wanted(), nil, plan.Facts{Charts: rendered, Reach: reach{}})
	want := map[string]*target.Capabilities{"crds": &served, "operator": &growing, "app": &growing, "fixed": &fixed, "alone": &served}
	if diff := cmp.Diff(want, rendered.with); diff != "" {
		t.Errorf("planned with (-want +got):\n%s", diff)
	}
	applied := map[string]*target.Capabilities{}
	shown := plan.Shown{KnowsObjects: true, Objects: map[deploy.Key]map[string]string{}}
	for _, name := range []string{"crds", "operator", "app"} { // The plan has no objects of the others.
		shown.Objects[key("a", name)] = map[string]string{}
	}
	for _, d := range plan.Replan(wanted(), nil, shown, rendered).Write {
		applied[d.Bundle.Name] = d.Capabilities
	}
	want = map[string]*target.Capabilities{"crds": &served, "operator": nil, "app": nil, "fixed": &fixed, "alone": nil}
	if diff := cmp.Diff(want, applied); diff != "" {
		t.Errorf("applied with (-want +got):\n%s", diff)
	}
}
