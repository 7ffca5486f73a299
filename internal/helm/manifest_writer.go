package helm

import (
	"bytes"
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// manifestWriter is a post-renderer that gives Helm the manifest of the rendered chart. Helm itself
// has rendered nothing.
type manifestWriter func() (string, error)

// manifestWriter creates custom resource definitions that other objects need before it gives the
// manifest.
func (c *Client) manifestWriter(ctx context.Context, op *operation, d target.Deployment, w release.Write) manifestWriter {
	return func() (string, error) {
		return op.rendered.Manifest, c.installDefinitions(ctx, op, d, op.rendered.Objects, w.Timeout)
	}
}

// Run ignores what Helm has rendered.
func (m manifestWriter) Run(*bytes.Buffer) (*bytes.Buffer, error) {
	text, err := m()
	return bytes.NewBufferString(text), err
}

// checkPlannedObjects returns release.ErrOtherObjects if objects differ from those that the plan showed.
func checkPlannedObjects(objects []*unstructured.Unstructured, d target.Deployment, promised map[string]string) error {
	if len(promised) == 0 {
		return nil
	}
	listed, err := listOf(objects, d)
	if err != nil {
		return err
	}
	if !release.MatchesPlanned(release.Rendering{Objects: listed}.Hashes(), promised) {
		return release.ErrOtherObjects
	}
	return nil
}

// listOf lists the objects of a deployment as the plan does.
func listOf(objects []*unstructured.Unstructured, d target.Deployment) ([]diff.Object, error) {
	listed, err := manifest.List(objects, d.Namespace, d.Digest)
	if err == nil && d.HidesContent() {
		manifest.HideContent(listed, d.Digest)
	}
	return listed, err
}
