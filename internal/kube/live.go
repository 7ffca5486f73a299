package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
)

// managedByHelm is on every object that Helm has written.
const managedByHelm = "app.kubernetes.io/managed-by=Helm"

// group is what one list can answer for.
type group struct {
	resource  schema.GroupVersionResource
	namespace string
}

// live reads objects. Those that do not exist are missing in the answer. Where
// several are of one kind and namespace, one list serves them all; what it lacks
// is asked for one by one, as only a 404 proves that an object is gone.
func (c *Client) live(ctx context.Context, objects []*resource.Info) (map[*resource.Info]*unstructured.Unstructured, error) {
	groups := map[group][]*resource.Info{}
	for _, object := range objects {
		key := group{resource: object.Mapping.Resource, namespace: object.Namespace}
		groups[key] = append(groups[key], object)
	}
	found := make(map[*resource.Info]*unstructured.Unstructured, len(objects))
	for key, members := range groups {
		listed := map[string]*unstructured.Unstructured{}
		if len(members) > 1 {
			listed = c.list(ctx, key)
		}
		for _, member := range members {
			if object, ok := listed[member.Name]; ok {
				found[member] = object
				continue
			}
			object, err := c.dynamic.Resource(key.resource).Namespace(key.namespace).Get(ctx, member.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", describe(member), err)
			}
			found[member] = object
		}
	}
	return found, nil
}

// list answers the objects of a group by name. It is a shortcut: when it fails,
// for example because the identity may get but not list, the objects are read
// one by one, and an error shows there.
func (c *Client) list(ctx context.Context, key group) map[string]*unstructured.Unstructured {
	listed := map[string]*unstructured.Unstructured{}
	items, err := c.dynamic.Resource(key.resource).Namespace(key.namespace).List(ctx, metav1.ListOptions{LabelSelector: managedByHelm})
	if err != nil {
		return listed
	}
	for i := range items.Items {
		listed[items.Items[i].GetName()] = &items.Items[i]
	}
	return listed
}
