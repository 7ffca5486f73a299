package render

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// ClusterScopedError reports that a bundle that is restricted to one namespace contains an object
// without a namespace.
type ClusterScopedError struct {
	Kind, Name, Namespace string
	Spelling              fleetyaml.Spelling
}

func (e *ClusterScopedError) Error() string {
	return fmt.Sprintf("%s %s is not namespaced, but the bundle is restricted to namespace %s; use %s instead of namespace to allow it", e.Kind, e.Name, e.Namespace, e.Spelling.Name("defaultNamespace"))
}

// namespacer puts every object into one namespace and refuses objects that have no namespace
// (Fleet: internal/helmdeployer/postrender.go). Without a mapper, it recognizes only built-in kinds
// without a namespace.
type namespacer struct {
	namespace string
	mapper    meta.RESTMapper
	spelling  fleetyaml.Spelling
}

// move changes objects in place. They are the members of lists, not the lists.
func (n namespacer) move(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if n.clusterScoped(object) {
			return &ClusterScopedError{Kind: object.GetKind(), Name: object.GetName(), Namespace: n.namespace, Spelling: n.spelling}
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
	// Helm reports a kind that the cluster does not serve, with its place.
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot
}

// Confine puts the objects of a deployment into the namespace that the bundle is restricted to, if
// any. It refuses objects that no bundle may contain. Without a mapper, it recognizes only built-in
// kinds without a namespace. Errors: *ClusterScopedError, *manifest.ForbiddenRecordError.
func Confine(objects []*unstructured.Unstructured, d target.Deployment, mapper meta.RESTMapper) ([]*unstructured.Unstructured, error) {
	if d.Options.Namespace != "" {
		if err := (namespacer{namespace: d.Namespace, mapper: mapper, spelling: d.Bundle.Spelling()}).move(manifest.Flatten(objects)); err != nil {
			return nil, err
		}
	}
	return objects, manifest.RefuseRecords(objects, d.Namespace)
}
