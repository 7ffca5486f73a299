package helm

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Deployed is what a release record holds.
type Deployed struct {
	Documents []release.Document
	// Err is why it could not be read.
	Err error
}

// Deployed reads what releases are made of from their records, in their order. Its
// error means that none was read.
func (c *Client) Deployed(ctx context.Context, releases []release.Observed) ([]Deployed, error) {
	read, err := c.manifests(ctx, releases)
	if err != nil {
		return nil, err
	}
	found := make([]Deployed, len(releases))
	for i, manifest := range read {
		if found[i].Err = manifest.err; manifest.err == nil {
			found[i].Documents, found[i].Err = documentsOf(manifest.objects, manifest.hooks, releases[i].Namespace)
		}
	}
	return found, nil
}

// documentsOf are objects and hooks of a release in the given namespace.
func documentsOf(objects, hooks []*unstructured.Unstructured, namespace string) ([]release.Document, error) {
	made := make([]release.Document, 0, len(objects)+len(hooks))
	for i, part := range [][]*unstructured.Unstructured{objects, hooks} {
		for _, object := range flatten(part) {
			content, err := json.Marshal(object.Object)
			if err != nil {
				return nil, fmt.Errorf("writing %s %s: %w", object.GetKind(), object.GetName(), err)
			}
			made = append(made, release.Document{Object: identify(object, namespace), Hook: i == 1, Content: string(content)})
		}
	}
	return made, nil
}
