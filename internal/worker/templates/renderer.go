package templates

import (
	"helm.sh/helm/v3/pkg/chart"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Renderer runs the templates of charts, and kustomizations, in this process. Its methods are
// safe for concurrent use.
type Renderer struct {
	// Kustomize builds the kustomization in a folder of files; rendered objects, if any, come
	// first among its resources. Without it a bundle with a kustomization cannot be rendered.
	Kustomize func(files []bundle.File, dir string, rendered []byte) ([]byte, error)

	loader render.Loader
}

// load returns the chart of a deployment, with its overlays.
func (r *Renderer) load(d target.Deployment) (*chart.Chart, render.Style, error) {
	return r.loader.Load(d, overlay)
}
