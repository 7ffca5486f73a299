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
			listed = c.list(ctx, key, members)
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

// pageSize is how many objects of a list are in memory at once.
const pageSize = 100

// list answers the members of a group by name. It is a shortcut: what it does
// not find, and all of it when it fails, for example because the identity may
// get but not list, is read one by one, and an error shows there. It stops when
// it has found every member: others may have many more objects in the namespace.
func (c *Client) list(ctx context.Context, key group, members []*resource.Info) map[string]*unstructured.Unstructured {
	wanted := make(map[string]bool, len(members))
	for _, member := range members {
		wanted[member.Name] = true
	}
	listed := make(map[string]*unstructured.Unstructured, len(members))
	options := metav1.ListOptions{LabelSelector: managedByHelm, Limit: pageSize}
	for {
		page, err := c.dynamic.Resource(key.resource).Namespace(key.namespace).List(ctx, options)
		if err != nil {
			return listed
		}
		for _, item := range page.Items {
			if wanted[item.GetName()] {
				listed[item.GetName()] = &item
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" || len(listed) == len(wanted) {
			return listed
		}
	}
}
