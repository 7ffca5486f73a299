package helm

import (
	"bytes"
	"fmt"

	"helm.sh/helm/v3/pkg/postrender"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// promiseKeeper is a post-renderer that stops an operation if the objects differ from those
// that the plan showed. It stops before any object is written. It checks only deployments of
// which the plan did not have all hashes. All others are compared with their record after the
// write: here, their whole manifest would have to be parsed a second time.
type promiseKeeper struct {
	d        target.Deployment
	promised map[string]string
	next     postrender.PostRenderer
}

// Run returns the output of the next post-renderer.
func (k promiseKeeper) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) {
	if !knowsPart(k.promised) {
		return k.next.Run(rendered)
	}
	objects, err := manifest.Parse(rendered.Bytes())
	if err != nil {
		return nil, fmt.Errorf("reading the rendered manifest: %w", err)
	}
	if !k.d.Options.DeleteCRDResources {
		manifest.KeepCRDs(objects)
	}
	listed, err := manifest.List(objects, k.d.Namespace, k.d.Digest)
	if err != nil {
		return nil, err
	}
	if k.d.HidesContent() {
		manifest.HideContent(listed, k.d.Digest)
	}
	if !release.KeepsPromise(release.Rendering{Objects: listed}.Hashes(), k.promised) {
		return nil, release.ErrOtherObjects
	}
	return k.next.Run(rendered)
}

// knowsPart reports whether some of the hashes are unknown.
func knowsPart(promised map[string]string) bool {
	known := 0
	for _, hash := range promised {
		if hash != "" {
			known++
		}
	}
	return known < len(promised)
}
