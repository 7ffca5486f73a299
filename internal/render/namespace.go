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
	return fmt.Sprintf("%s %s is not namespaced, but the bundle is restricted to namespace %s; use %s instead of namespace to allow it",
		e.Kind, e.Name, e.Namespace, e.Spelling.Name("defaultNamespace"))
}

// isRoot reports whether a kind has no namespace. Without a mapper, it recognizes only built-in kinds.
func isRoot(mapper meta.RESTMapper, kind schema.GroupKind, versions ...string) bool {
	if manifest.IsClusterScoped(kind) {
		return true
	}
	if mapper == nil {
		return false
	}
	mapping, err := mapper.RESTMapping(kind, versions...)
	// Helm reports a kind that the cluster does not serve, with its place.
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot
}

// Confine puts the objects of a deployment into the namespace that the bundle is restricted to, if
// any. It refuses objects without a namespace then (Fleet: internal/helmdeployer/postrender.go), and
// objects that no bundle may contain. Without a mapper, it recognizes only built-in kinds without a
// namespace. Errors: *ClusterScopedError, *manifest.ForbiddenRecordError.
func Confine(objects []*unstructured.Unstructured, d target.Deployment, mapper meta.RESTMapper) ([]*unstructured.Unstructured, error) {
	if d.Options.Namespace != "" {
		for _, object := range manifest.Flatten(objects) {
			kind := object.GroupVersionKind()
			if isRoot(mapper, kind.GroupKind(), kind.Version) {
				return nil, &ClusterScopedError{Kind: kind.Kind, Name: object.GetName(), Namespace: d.Namespace, Spelling: d.Bundle.Spelling()}
			}
			object.SetNamespace(d.Namespace)
		}
	}
	return objects, manifest.RefuseRecords(objects, d.Namespace)
}
