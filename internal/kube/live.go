package kube

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
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

// atOnce is how many requests of one look are under way. What all looks at a
// cluster do together is limited by the client.
const atOnce = 8

// live reads objects. Those that do not exist are missing in the answer. Where
// several are of one kind and namespace, one list serves them all; what it lacks
// is asked for one by one, as only a 404 proves that an object is gone.
func (c *Client) live(ctx context.Context, objects []*resource.Info) (map[*resource.Info]*unstructured.Unstructured, error) {
	groups := map[group][]*resource.Info{}
	for _, object := range objects {
		key := groupOf(object)
		groups[key] = append(groups[key], object)
	}
	var (
		mu    sync.Mutex
		found = make(map[*resource.Info]*unstructured.Unstructured, len(objects))
	)
	var listing errgroup.Group
	listing.SetLimit(atOnce)
	for key, members := range groups {
		if len(members) == 1 {
			continue
		}
		listing.Go(func() error {
			listed := c.list(ctx, key, members)
			mu.Lock()
			defer mu.Unlock()
			for _, member := range members {
				if object, ok := listed[member.Name]; ok {
					found[member] = object
				}
			}
			return nil
		})
	}
	if err := listing.Wait(); err != nil {
		return nil, err
	}
	var lacking []*resource.Info
	for _, object := range objects {
		if found[object] == nil {
			lacking = append(lacking, object)
		}
	}
	getting, ctx := errgroup.WithContext(ctx)
	getting.SetLimit(atOnce)
	for _, object := range lacking {
		getting.Go(func() error {
			got, err := c.get(ctx, object)
			if err != nil || got == nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			found[object] = got
			return nil
		})
	}
	return found, getting.Wait()
}

func groupOf(object *resource.Info) group {
	return group{resource: object.Mapping.Resource, namespace: object.Namespace}
}

// get reads one object, nil when it does not exist.
func (c *Client) get(ctx context.Context, object *resource.Info) (*unstructured.Unstructured, error) {
	got, err := c.dynamic.Resource(object.Mapping.Resource).Namespace(object.Namespace).Get(ctx, object.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // that it is missing is an answer, not an error
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", describe(object), err)
	}
	return got, nil
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
