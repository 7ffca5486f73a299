package render_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// counting counts the renderings of a sandbox.
type counting struct {
	templates.Renderer

	plans, applies atomic.Int32
}

func (c *counting) Plan(ctx context.Context, d target.Deployment) (release.Rendering, error) {
	c.plans.Add(1)
	return c.Renderer.Plan(ctx, d)
}

func (c *counting) Apply(ctx context.Context, d target.Deployment, revision render.Revision, lookup render.Lookup) (render.Files, error) {
	c.applies.Add(1)
	return c.Renderer.Apply(ctx, d, revision, lookup)
}

// Deployments with equal input on many clusters are rendered once, unless each rendering can
// differ.
func TestEqualDeploymentsAreRenderedOnce(t *testing.T) {
	t.Parallel()
	able := target.Capabilities{Version: "v1.36.0", Major: "1", Minor: "36"}
	later := able
	later.Version = "v1.37.0"
	tests := map[string]struct {
		template       string
		change         func(i int, d *target.Deployment, r *render.Revision)
		plans, applies int32
	}{
		"equal":            {template: "x", plans: 1, applies: 1},
		"random":           {template: "{{ randAlpha 5 }}", plans: 1, applies: 3},
		"with lookup":      {template: `{{ lookup "v1" "Pod" "a" "b" }}`, plans: 1, applies: 3},
		"other digests":    {template: "x", change: func(i int, d *target.Deployment, _ *render.Revision) { d.Digest = strconv.Itoa(i) }, plans: 3, applies: 3},
		"other namespaces": {template: "x", change: func(i int, d *target.Deployment, _ *render.Revision) { d.Namespace = strconv.Itoa(i) }, plans: 3, applies: 3},
		"other names":      {template: "x", change: func(i int, d *target.Deployment, _ *render.Revision) { d.Release = strconv.Itoa(i) }, plans: 3, applies: 3},
		"other revisions":  {template: "x", change: func(i int, _ *target.Deployment, r *render.Revision) { r.Number = i + 1 }, plans: 1, applies: 3},
		"other clusters at apply": {template: "x", change: func(i int, _ *target.Deployment, r *render.Revision) {
			r.Capabilities.APIs = []string{strconv.Itoa(i)}
		}, plans: 1, applies: 3},
		"other clusters while planning": {template: "x", change: func(i int, d *target.Deployment, _ *render.Revision) {
			d.Capabilities = &able
			if i == 2 {
				d.Capabilities = &later
			}
		}, plans: 2, applies: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sandbox := &counting{}
			charts := &render.Charts{Sandbox: sandbox}
			b := &bundle.Bundle{Name: "b", Content: "v1-0123456789abcdef", Files: []bundle.File{
				{Name: "Chart.yaml", Content: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")},
				{Name: "templates/a.yaml", Content: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata: { b: '" + test.template + "' }\n")},
			}}
			for i, cluster := range []string{"one", "two", "three"} {
				d := target.Deployment{Cluster: cluster, Release: "b", Namespace: "ns", Bundle: b, Digest: "v1-fedcba9876543210"}
				revision := render.Revision{Capabilities: able, Number: 1}
				if test.change != nil {
					test.change(i, &d, &revision)
				}
				if _, err := charts.Render(t.Context(), d); err != nil {
					t.Fatal(err)
				}
				made, err := charts.Chart(t.Context(), d, revision, nowhere, nil)
				if err != nil {
					t.Fatal(err)
				}
				if len(made.Objects) != 1 || len(made.Recorded.Templates) != 1 {
					t.Errorf("%s is rendered to %d objects", cluster, len(made.Objects))
				}
			}
			if sandbox.plans.Load() != test.plans || sandbox.applies.Load() != test.applies {
				t.Errorf("%d plans and %d applies, want %d and %d", sandbox.plans.Load(), sandbox.applies.Load(), test.plans, test.applies)
			}
		})
	}
}

// nowhere is a cluster without objects.
func nowhere(context.Context, string, string, string, string) (map[string]any, error) {
	return map[string]any{}, nil
}
