package helm

import (
	"bytes"
	"fmt"

	"helm.sh/helm/v3/pkg/postrender"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// crdKeeper is a post-renderer that makes Helm keep custom resource definitions when it
// uninstalls a release. Otherwise all resources of their kinds would be deleted too (Fleet:
// internal/helmdeployer/postrender.go).
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

// postRendererFor returns the post-renderer for all objects of a deployment except hooks.
func postRendererFor(d target.Deployment) postrender.PostRenderer {
	if d.Options.DeleteCRDResources {
		return nil
	}
	return crdKeeper{}
}
