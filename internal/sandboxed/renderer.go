package sandboxed

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
)

// Renderer runs the templates of charts, and kustomizations, in this process. Its methods are
// safe for concurrent use.
type Renderer struct {
	// Kustomize builds the kustomization in a folder of files; rendered objects, if any, come
	// first among its resources. Without it a bundle with a kustomization cannot be rendered.
	Kustomize func(files []bundle.File, dir string, rendered []byte) ([]byte, error)

	loader render.Loader
}
