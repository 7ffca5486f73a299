package kube

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// managedByHelm selects every object that Helm has written.
const managedByHelm = wellknown.ManagedBy + "=" + wellknown.ManagedByHelm

// group identifies the objects of one list request.
type group struct {
	resource  schema.GroupVersionResource
	namespace string
}

// atOnce is how many requests one call of read runs at once. The client limits the requests of all
// calls together.
const atOnce = 32

// readResult is the result of reading one object. The object does not exist if both fields are nil.
type readResult struct {
	object *unstructured.Unstructured
	err    error
}

// LiveObjects are objects as they were last read.
type LiveObjects = map[*resource.Info]*unstructured.Unstructured

// Live reads objects and returns those that exist and those that do not. Objects that could not be
// read are in neither result.
func (c *Client) Live(ctx context.Context, objects []*resource.Info) (found LiveObjects, absent []*resource.Info) {
	return sorted(objects, c.reader.read(ctx, objects, completeObjects))
}

// Existing is like Live, but reads only metadata, and objects of any owner. An object that a list
// lacks counts as absent. The caller creates absent objects, which fails if such an object exists
// after all.
func (c *Client) Existing(ctx context.Context, objects []*resource.Info) (found LiveObjects, absent []*resource.Info) {
	return sorted(objects, c.reader.read(ctx, objects, onlyMetadata))
}

func sorted(objects []*resource.Info, seen map[*resource.Info]readResult) (found LiveObjects, absent []*resource.Info) {
	found = make(LiveObjects, len(objects))
	for _, object := range objects {
		switch got := seen[object]; {
		case got.err != nil:
		case got.object == nil:
			absent = append(absent, object)
		default:
			found[object] = got.object
		}
	}
	return found, absent
}

// objectReader reads objects of one cluster, by lists and one by one.
type objectReader struct {
	dynamic  dynamic.Interface
	metadata metadata.Interface
	// watching is for watches. The other clients limit the time of a response, and the response to a
	// watch must stay open.
	watching dynamic.Interface
	// listing is for lists of objects.
	listing rest.Interface
	lists   lists
}

func newObjectReader(config *rest.Config) (*objectReader, error) {
	objects, errObjects := dynamic.NewForConfig(config)
	ofMetadata, errMetadata := metadata.NewForConfig(config)
	listing, errListing := newListClient(config)
	unlimited := rest.CopyConfig(config)
	unlimited.Timeout = 0
	watching, errWatching := dynamic.NewForConfig(unlimited)
	if err := cmp.Or(errObjects, errMetadata, errListing, errWatching); err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return &objectReader{dynamic: objects, metadata: ofMetadata, watching: watching, listing: listing}, nil
}

// read reads objects and returns the result for each. One list serves all objects of the same kind
// and namespace. Objects that the list lacks are read one by one, because only a 404 proves that an
// object does not exist. If the cluster does not respond, no further request is sent.
func (o *objectReader) read(ctx context.Context, objects []*resource.Info, depth depth) map[*resource.Info]readResult {
	groups := map[group][]*resource.Info{}
	for _, object := range objects {
		key := groupOf(object)
		groups[key] = append(groups[key], object)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &reading{
		reader: o, depth: depth, stop: stop,
		requests: make(chan struct{}, atOnce), seen: make(map[*resource.Info]readResult, len(objects)),
	}
	var looking sync.WaitGroup
	for key, members := range groups {
		failed := func(err error) { r.note(readResult{err: err}, members...) }
		looking.Go(panics.RecoveringTo(failed, "reading objects", func() { r.group(ctx, key, members) }))
	}
	looking.Wait()
	return r.seen
}

// reading is one call of read.
type reading struct {
	reader *objectReader
	depth  depth
	// stop ends the reading, because the cluster does not respond.
	stop     context.CancelCauseFunc
	requests chan struct{}

	mu   sync.Mutex
	seen map[*resource.Info]readResult
}

func (r *reading) note(got readResult, objects ...*resource.Info) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, object := range objects {
		r.seen[object] = got
	}
}

// group reads the members of one group. If the identity may neither list a kind nor get the first
// object, no request is sent for the others.
func (r *reading) group(ctx context.Context, key group, members []*resource.Info) {
	var denied bool
	if len(members) > 1 {
		r.requests <- struct{}{}
		listed, complete, err := r.reader.lists.read(ctx, sharedKey{group: key, depth: r.depth}, namesOf(members), r.reader.list)
		<-r.requests
		denied = apierrors.IsForbidden(err)
		var lacking []*resource.Info
		for _, member := range members {
			object, ok := listed[member.Name]
			if ok || complete && r.depth == onlyMetadata {
				r.note(readResult{object: object}, member)
				continue
			}
			lacking = append(lacking, member)
		}
		members = lacking
	}
	if denied && len(members) > 0 {
		first := r.get(ctx, members[0])
		r.note(first, members[0])
		members = members[1:]
		if apierrors.IsForbidden(first.err) {
			r.note(first, members...)
			return
		}
	}
	var getting sync.WaitGroup
	for _, member := range members {
		failed := func(err error) { r.note(readResult{err: err}, member) }
		getting.Go(panics.RecoveringTo(failed, "reading "+describe(member), func() { r.note(r.get(ctx, member), member) }))
	}
	getting.Wait()
}

func (r *reading) get(ctx context.Context, object *resource.Info) (seen readResult) {
	defer panics.Recover("reading "+describe(object), &seen.err)
	r.requests <- struct{}{}
	defer func() { <-r.requests }()
	if ctx.Err() != nil {
		return readResult{err: context.Cause(ctx)}
	}
	got, err := r.reader.get(ctx, object, r.depth)
	if connect.IsUnreachable(err) {
		r.stop(err)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return readResult{object: got, err: err}
}

func groupOf(object *resource.Info) group {
	return group{resource: object.Mapping.Resource, namespace: object.Namespace}
}

func namesOf(objects []*resource.Info) []string {
	names := make([]string, len(objects))
	for i, object := range objects {
		names[i] = object.Name
	}
	return names
}

// get reads one object, nil when it does not exist.
func (o *objectReader) get(ctx context.Context, object *resource.Info, depth depth) (*unstructured.Unstructured, error) {
	var (
		got *unstructured.Unstructured
		err error
	)
	if depth == onlyMetadata {
		var partial *metav1.PartialObjectMetadata
		partial, err = o.metadata.Resource(object.Mapping.Resource).Namespace(object.Namespace).Get(ctx, object.Name, metav1.GetOptions{})
		if err == nil {
			got, err = fromMetadata(partial)
		}
	} else {
		got, err = o.dynamic.Resource(object.Mapping.Resource).Namespace(object.Namespace).Get(ctx, object.Name, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil, nil // a missing object is a result, not an error
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", describe(object), err)
	}
	return got, nil
}

// fromMetadata converts metadata to an object and sets its kind, which an item of a list lacks.
func fromMetadata(of *metav1.PartialObjectMetadata) (*unstructured.Unstructured, error) {
	of.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(of)
	if err != nil {
		return nil, fmt.Errorf("reading metadata: %w", err)
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// pageSize is how many objects one page of a list contains, more only if more objects are wanted.
// metadataPageSize is the maximum, and the size if only metadata is read.
const (
	pageSize         = 100
	metadataPageSize = 500
	// metadataPages is how many pages of a metadata list are read at most. The namespace may
	// contain far more objects than those that are wanted.
	metadataPages = 4
	// pages and listTime limit any list, because an API server could return a next page for ever.
	pages    = 1000
	listTime = 5 * time.Minute
)

// list returns the members of a group by name, and whether it has read the whole group. It is a
// shortcut: members that it does not find are read one by one. The same applies if it fails, for
// example because the identity may get but not list. Only the errors of those reads count. list
// stops when it has found every member, because the namespace may contain many more objects.
func (o *objectReader) list(ctx context.Context, key sharedKey, wanted map[string]bool) (listed namedObjects, complete bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	listed = make(namedObjects, len(wanted))
	options := metav1.ListOptions{LabelSelector: managedByHelm, Limit: int64(min(max(pageSize, len(wanted)), metadataPageSize))}
	read, last := o.objectPage, pages
	if key.depth == onlyMetadata {
		options, last = metav1.ListOptions{Limit: metadataPageSize}, metadataPages
		read = func(ctx context.Context, of group, options metav1.ListOptions) ([]unstructured.Unstructured, string, error) {
			return o.metadataPage(ctx, of, options, wanted)
		}
	}
	for page := 1; ; page++ {
		items, next, err := read(ctx, key.group, options)
		if err != nil {
			return listed, false, fmt.Errorf("listing %s: %w", key.group.resource.Resource, err)
		}
		for _, item := range items { // A pointer into items would keep the whole page in memory.
			if wanted[item.GetName()] {
				listed[item.GetName()] = &item
			}
		}
		if options.Continue = next; next == "" || len(listed) == len(wanted) || page == last {
			return listed, next == "", nil
		}
	}
}

// metadataPage returns a page of a list, and the token of the next page. It leaves out what is not
// wanted: converting all metadata of a namespace takes far longer than reading it.
func (o *objectReader) metadataPage(
	ctx context.Context, of group, options metav1.ListOptions, wanted map[string]bool,
) ([]unstructured.Unstructured, string, error) {
	page, err := o.metadata.Resource(of.resource).Namespace(of.namespace).List(ctx, options)
	if err != nil {
		return nil, "", err
	}
	var items []unstructured.Unstructured
	for i := range page.Items {
		if !wanted[page.Items[i].Name] {
			continue
		}
		item, err := fromMetadata(&page.Items[i])
		if err != nil {
			return nil, "", err
		}
		items = append(items, *item)
	}
	return items, page.Continue, nil
}
