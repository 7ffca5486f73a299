package kube

import (
	"context"
	"fmt"
	"sync"

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

// sight is what was seen of one object. It does not exist if both are nil.
type sight struct {
	object *unstructured.Unstructured
	err    error
}

// look reads objects and says of each what came of it. Where several are of one kind
// and namespace, one list serves them all; what it lacks is asked for one by one, as
// only a 404 proves that an object is gone. Once the cluster does not answer it is
// asked no more.
func (c *Client) look(ctx context.Context, objects []*resource.Info) map[*resource.Info]sight {
	groups := map[group][]*resource.Info{}
	for _, object := range objects {
		key := groupOf(object)
		groups[key] = append(groups[key], object)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var (
		mu   sync.Mutex
		seen = make(map[*resource.Info]sight, len(objects))
	)
	note := func(object *resource.Info, got sight) {
		mu.Lock()
		defer mu.Unlock()
		seen[object] = got
	}
	requests := make(chan struct{}, atOnce)
	var looking sync.WaitGroup
	for key, members := range groups {
		looking.Go(func() { c.lookAt(ctx, stop, requests, key, members, note) })
	}
	looking.Wait()
	return seen
}

// lookAt reads the members of one group. The identity that may neither list a kind
// nor get one of its objects is not asked to get all others.
func (c *Client) lookAt(ctx context.Context, stop context.CancelCauseFunc, requests chan struct{}, key group, members []*resource.Info, note func(*resource.Info, sight)) {
	var denied bool
	if len(members) > 1 {
		requests <- struct{}{}
		listed, err := c.list(ctx, key, members)
		<-requests
		denied = apierrors.IsForbidden(err)
		var lacking []*resource.Info
		for _, member := range members {
			if object, ok := listed[member.Name]; ok {
				note(member, sight{object: object})
				continue
			}
			lacking = append(lacking, member)
		}
		members = lacking
	}
	get := func(object *resource.Info) sight {
		requests <- struct{}{}
		defer func() { <-requests }()
		if ctx.Err() != nil {
			return sight{err: context.Cause(ctx)}
		}
		got, err := c.get(ctx, object)
		if isUnreachable(err) {
			stop(err)
		}
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return sight{object: got, err: err}
	}
	if denied && len(members) > 0 {
		first := get(members[0])
		note(members[0], first)
		members = members[1:]
		if apierrors.IsForbidden(first.err) {
			for _, member := range members {
				note(member, first)
			}
			return
		}
	}
	var getting sync.WaitGroup
	for _, member := range members {
		getting.Go(func() { note(member, get(member)) })
	}
	getting.Wait()
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
// get but not list, is read one by one, and an error that counts shows there. It
// stops when it has found every member: others may have many more objects in the
// namespace.
func (c *Client) list(ctx context.Context, key group, members []*resource.Info) (map[string]*unstructured.Unstructured, error) {
	wanted := make(map[string]bool, len(members))
	for _, member := range members {
		wanted[member.Name] = true
	}
	listed := make(map[string]*unstructured.Unstructured, len(members))
	options := metav1.ListOptions{LabelSelector: managedByHelm, Limit: pageSize}
	for {
		page, err := c.dynamic.Resource(key.resource).Namespace(key.namespace).List(ctx, options)
		if err != nil {
			return listed, fmt.Errorf("listing %s: %w", key.resource.Resource, err)
		}
		for _, item := range page.Items {
			if wanted[item.GetName()] {
				listed[item.GetName()] = &item
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" || len(listed) == len(wanted) {
			return listed, nil
		}
	}
}
