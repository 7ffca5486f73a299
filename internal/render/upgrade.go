package render

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Upgrade renders a deployment as an upgrade of its release to a revision. The template function
// lookup returns only objects of the release, as its record contains them. A chart that keeps a
// password in this way is rendered with that password. Irreproducible is the reason why another
// such rendering can differ. Renderings are not cached.
func (c *Charts) Upgrade(ctx context.Context, d target.Deployment, revision int, objects []diff.Document) (_ release.Rendering, err error) {
	defer panics.Recover("rendering release "+d.Release, &err)
	of := Revision{Number: revision, Upgrade: true}
	if d.Capabilities != nil {
		of.Capabilities = *d.Capabilities
	}
	rendering, err := c.Sandbox.Upgrade(ctx, d, of, lookupIn(objects))
	if !d.Bundle.HasSecrets() {
		return rendering, err
	}
	if err != nil {
		return release.Rendering{}, hide(err)
	}
	rendering.HidesContent = true
	return c.withoutHiddenNames(d, rendering), nil
}

// lookupIn returns a Lookup for the objects of a release.
func lookupIn(objects []diff.Document) Lookup {
	return func(_ context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
		for _, object := range objects {
			// The namespace does not count for a kind without namespaces.
			if object.Kind != kind || object.Name != name || object.Namespace != "" && object.Namespace != namespace {
				continue
			}
			var content map[string]any
			if err := json.Unmarshal([]byte(object.Content), &content); err != nil {
				return nil, fmt.Errorf("reading %s in the release record: %w", object.Key(), err)
			}
			if content["apiVersion"] == apiVersion {
				return asStored(content, object), nil
			}
		}
		return map[string]any{}, nil
	}
}

// asStored returns an object as an API server returns it, for those fields that charts read.
func asStored(content map[string]any, object diff.Document) map[string]any {
	if metadata, ok := content["metadata"].(map[string]any); ok && object.Namespace != "" {
		metadata["namespace"] = object.Namespace
	}
	texts, _ := content["stringData"].(map[string]any)
	if object.Group != "" || object.Kind != "Secret" || len(texts) == 0 {
		return content
	}
	data, _ := content["data"].(map[string]any)
	if data == nil {
		data = make(map[string]any, len(texts))
		content["data"] = data
	}
	for key, text := range texts {
		if text, ok := text.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	delete(content, "stringData")
	return content
}
