package helm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// installDefinitions creates the custom resource definitions among objects whose kinds other objects
// need now. Helm needs all kinds of a manifest before it creates the first object. So a manifest could
// not contain both a definition and a resource of its kind. The definitions that are created here name
// the release as owner, and Helm adopts them.
func (c *Client) installDefinitions(
	ctx context.Context, op *operation, d target.Deployment, objects []*unstructured.Unstructured, timeout time.Duration,
) error {
	needed, err := op.neededDefinitions(objects)
	if err != nil || len(needed) == 0 {
		return err
	}
	for _, definition := range needed {
		definition.SetAnnotations(withMore(definition.GetAnnotations(), map[string]string{
			wellknown.ReleaseName: d.Release, wellknown.ReleaseNamespace: d.Namespace,
		}))
		definition.SetLabels(withMore(definition.GetLabels(), map[string]string{wellknown.ManagedBy: wellknown.ManagedByHelm}))
	}
	if err := op.createDefinitions(ctx, needed, nil, timeout); err != nil {
		return err
	}
	c.capabilities.forget()
	return nil
}

// neededDefinitions returns copies of the definitions whose kinds are used by other objects and are
// missing on the cluster.
func (o *operation) neededDefinitions(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	used := sets.New[schema.GroupKind]()
	for _, object := range objects {
		used.Insert(object.GroupVersionKind().GroupKind())
	}
	var needed []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() != manifest.CRDKind {
			continue
		}
		defined := definedKind(object)
		if !used.Has(defined) {
			continue
		}
		_, err := o.client.cluster.Mapper().RESTMapping(defined)
		if meta.IsNoMatchError(err) {
			needed = append(needed, object.DeepCopy())
		} else if err != nil {
			return nil, fmt.Errorf("looking for the kind %s: %w", defined.Kind, err)
		}
	}
	return needed, nil
}

// definedKind returns the kind that a definition defines.
func definedKind(definition *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// createDefinitions creates the missing definitions. It returns when their kinds and those of the
// written definitions are served.
func (o *operation) createDefinitions(
	ctx context.Context, missing, written []*unstructured.Unstructured, timeout time.Duration,
) error {
	created, err := o.buildObjects(missing)
	if err != nil {
		return err
	}
	if _, err := o.client.Create(created); err != nil {
		return fmt.Errorf("creating custom resource definitions: %w", err)
	}
	replaced, err := o.buildObjects(written)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := o.client.cluster.WaitReady(ctx, slices.Concat(replaced, created), release.Readiness{}); err != nil {
		return fmt.Errorf("waiting for custom resource definitions: %w", err)
	}
	return nil
}
