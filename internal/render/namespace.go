package render

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// ClusterScopedError says that a bundle which must stay in one namespace contains
// an object that has none.
type ClusterScopedError struct {
	Kind, Name, Namespace string
}

func (e *ClusterScopedError) Error() string {
	return fmt.Sprintf("%s %s is not namespaced, but the bundle is restricted to namespace %s; use defaultNamespace instead of namespace to allow it", e.Kind, e.Name, e.Namespace)
}

// namespacer puts every object into one namespace and refuses those that cannot
// be (Fleet: internal/helmdeployer/postrender.go). Without a mapper only
// built-in kinds are known.
type namespacer struct {
	namespace string
	mapper    meta.RESTMapper
}

// move changes objects in place.
func (n namespacer) move(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if n.clusterScoped(object) {
			return &ClusterScopedError{Kind: object.GetKind(), Name: object.GetName(), Namespace: n.namespace}
		}
		object.SetNamespace(n.namespace)
	}
	return nil
}

func (n namespacer) clusterScoped(object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind()
	return n.isRoot(kind.GroupKind(), kind.Version)
}

// isRoot reports whether a kind has no namespace.
func (n namespacer) isRoot(kind schema.GroupKind, versions ...string) bool {
	if manifest.IsClusterScoped(kind) {
		return true
	}
	if n.mapper == nil {
		return false
	}
	mapping, err := n.mapper.RESTMapping(kind, versions...)
	// A kind the cluster does not know is reported by Helm, with its place.
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot
}

// Confine puts the objects of a deployment into the one namespace that all of them must be
// in, if there is one, and refuses those that no bundle may contain. Without a mapper only
// built-in kinds are known to have no namespace. Errors: *ClusterScopedError,
// *manifest.ForbiddenRecordError.
func Confine(objects []*unstructured.Unstructured, d target.Deployment, mapper meta.RESTMapper) ([]*unstructured.Unstructured, error) {
	if d.Options.Namespace != "" {
		objects = manifest.Flatten(objects)
		if err := (namespacer{namespace: d.Namespace, mapper: mapper}).move(objects); err != nil {
			return nil, err
		}
	}
	return objects, manifest.RefuseRecords(objects, d.Namespace)
}
