package helm

import (
	"bytes"
	"fmt"

	"helm.sh/helm/v3/pkg/postrender"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// crdKeeper is a post-renderer that makes Helm leave custom resource definitions
// where they are when a release goes, as all resources of their kinds would go
// with them (Fleet: internal/helmdeployer/postrender.go).
type crdKeeper struct{}

func (crdKeeper) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) {
	if !bytes.Contains(rendered.Bytes(), []byte(manifest.CRDKind)) {
		return rendered, nil
	}
	objects, err := manifest.Parse(rendered.Bytes())
	if err != nil {
		return nil, fmt.Errorf("reading the rendered manifest: %w", err)
	}
	manifest.KeepCRDs(objects)
	stream, err := manifest.Join(objects)
	if err != nil {
		return nil, err
	}
	return bytes.NewBufferString(stream), nil
}

// postRendererFor is what all objects of a deployment but hooks go through.
func postRendererFor(d target.Deployment) postrender.PostRenderer {
	if d.Options.DeleteCRDResources {
		return nil
	}
	return crdKeeper{}
}
