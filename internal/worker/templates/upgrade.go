package templates

import (
	"context"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Upgrade renders a deployment as an upgrade of its release, see render.Sandbox.
func (r *Renderer) Upgrade(ctx context.Context, d target.Deployment,
	revision render.Revision, lookup render.Lookup,
) (release.Rendering, error) {
	p := Environment{
		Capabilities: chartutil.DefaultCapabilities.Copy(), anyVersion: true, Revision: revision.Number, Upgrade: revision.Upgrade,
		Lookup: func(apiVersion, kind, namespace, name string) (map[string]any, error) {
			return lookup(ctx, apiVersion, kind, namespace, name)
		},
	}
	if d.Capabilities != nil {
		p.Capabilities, p.anyVersion = render.Capabilities(revision.Capabilities), false
	}
	first, err := r.traceObjects(d, p, 0)
	if err != nil {
		return release.Rendering{}, err
	}
	second, err := r.traceObjects(d, p, 1)
	if err != nil {
		return release.Rendering{}, err
	}
	made := release.Rendering{Chart: first.chart.Name(), Version: first.chart.Metadata.Version}
	if made.Objects, err = manifest.List(first.objects, d.Namespace, d.Digest); err != nil {
		return release.Rendering{}, err
	}
	if made.Documents, err = manifest.Documents(first.objects, first.hooks, d.Namespace); err != nil {
		return release.Rendering{}, err
	}
	if !equality.Semantic.DeepEqual(first.objects, second.objects) || !equality.Semantic.DeepEqual(first.hooks, second.hooks) {
		made.Irreproducible = "the result of its templates differs from one time to the next"
	}
	return made, nil
}

// traceObjects returns the objects of a rendering that makes no keys.
func (r *Renderer) traceObjects(d target.Deployment, p Environment, number int) (rendered, error) {
	_, made := r.trace(d, p, number)
	return (&analysis{renderer: r, d: d}).objectsOf(&made)
}
