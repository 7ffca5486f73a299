package helm

import (
	"context"
	"fmt"
	"maps"
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

// crdInstaller creates custom resource definitions before the resources of their kinds. Helm needs all kinds of a manifest before it creates the first
// object. So a manifest could not contain both a definition and a resource of its kind. The
// definitions that are created here name the release as owner, and Helm adopts them.
type crdInstaller struct {
	//nolint:containedctx // a post-renderer is handed none; it exists for one operation
	ctx          context.Context
	capabilities *capabilityReader
	op           *operation
	d            target.Deployment
	timeout      time.Duration
}

// install creates the definitions among objects whose kinds other objects need now.
func (i crdInstaller) install(objects []*unstructured.Unstructured) error {
	if !slices.ContainsFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() == manifest.CRDKind }) {
		return nil
	}
	needed, err := i.neededNow(objects)
	if err != nil || len(needed) == 0 {
		return err
	}
	return i.create(needed)
}

// neededNow returns the definitions whose kinds are used by other objects and are missing on
// the cluster.
func (i crdInstaller) neededNow(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	mapper, err := i.op.config.RESTClientGetter.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("reading the kinds of the cluster: %w", err)
	}
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
		_, err := mapper.RESTMapping(defined)
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
	text := func(path ...string) string {
		found, _, err := unstructured.NestedString(definition.Object, path...)
		if err != nil {
			return ""
		}
		return found
	}
	return schema.GroupKind{Group: text("spec", "group"), Kind: text("spec", "names", "kind")}
}

// create creates definitions and returns when their kinds are served.
func (i crdInstaller) create(definitions []*unstructured.Unstructured) error {
	for _, definition := range definitions {
		addTo(definition.GetAnnotations, definition.SetAnnotations, map[string]string{
			wellknown.ReleaseName: i.d.Release, wellknown.ReleaseNamespace: i.d.Namespace,
		})
		addTo(definition.GetLabels, definition.SetLabels, map[string]string{wellknown.ManagedBy: wellknown.ManagedByHelm})
	}
	built, err := i.op.buildObjects(definitions)
	if err != nil {
		return err
	}
	if _, err := i.op.client.Create(built); err != nil {
		return fmt.Errorf("creating custom resource definitions: %w", err)
	}
	ctx, cancel := context.WithTimeout(i.ctx, i.timeout)
	defer cancel()
	if err := i.op.client.cluster.WaitReady(ctx, built, release.Readiness{}); err != nil {
		return fmt.Errorf("waiting for custom resource definitions: %w", err)
	}
	i.capabilities.forget()
	return nil
}

func addTo(get func() map[string]string, set func(map[string]string), more map[string]string) {
	all := get()
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, more)
	set(all)
}
