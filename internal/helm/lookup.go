package helm

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// lookup reads objects for the template function of this name
// (helm.sh/helm/v3/pkg/engine/lookup_func.go). It uses the identity that writes the
// deployment. It returns one object, or a list if name is "", and an empty map for an object
// that does not exist.
func lookup(ctx context.Context, cluster Cluster, apiVersion, kind, namespace, name string) (map[string]any, error) {
	client, err := lookupClient(cluster, apiVersion, kind, namespace)
	if err != nil {
		return nil, fmt.Errorf("looking up %s %s: %w", apiVersion, kind, err)
	}
	var found interface{ UnstructuredContent() map[string]any }
	if name != "" {
		found, err = client.Get(ctx, name, metav1.GetOptions{})
	} else {
		found, err = client.List(ctx, metav1.ListOptions{})
	}
	if apierrors.IsNotFound(err) {
		return map[string]any{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking up %s %s: %w", apiVersion, kind, err)
	}
	return found.UnstructuredContent(), nil
}

// lookupClient returns a client for a kind, in a namespace if the kind has namespaces.
func lookupClient(cluster Cluster, apiVersion, kind, namespace string) (dynamic.ResourceInterface, error) {
	wanted := schema.FromAPIVersionAndKind(apiVersion, kind)
	mapping, err := cluster.Mapper().RESTMapping(wanted.GroupKind(), wanted.Version)
	if err != nil {
		return nil, err
	}
	objects := cluster.Dynamic().Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot || namespace == "" {
		return objects, nil
	}
	return objects.Namespace(namespace), nil
}
