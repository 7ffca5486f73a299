package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/client-go/rest"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/paging"
)

// objectList is a list of objects and its limits.
type objectList[T any] struct {
	kind, resource string
	// namespace is "" for objects of all namespaces.
	namespace        string
	selector, accept string
	limit, bytes     int
	page             int // how many objects a page has, 0 for pageSize
	// namespaceBytes is the maximum size of one namespace, and namespaceOf returns the namespace of
	// an object. Both are for objects of all namespaces.
	namespaceBytes int
	namespaceOf    func(T) string
	// partial returns what can be read of an object whose status cannot be read. The object can be
	// without specification and status. Without partial, such an object is an error.
	partial func(object json.RawMessage, cause error) (T, error)
}

// listedObject is an object of a page.
type listedObject[T any] struct {
	paging.Object

	value T
}

// read calls see for each object of the list. It returns the version of the list, and the namespaces
// that are left out because they are too large. see can have been called for some of their objects.
func (l objectList[T]) read(ctx context.Context, requests rest.Interface, see func(T)) (version string, leftOut []string, err error) {
	objects := 0
	list := paging.List[listedObject[T]]{
		Limit: int64(cmp.Or(l.page, pageSize)), Total: l.bytes, Namespace: cmp.Or(l.namespaceBytes, l.bytes),
		Measure: func(item listedObject[T]) paging.Object { return item.Object },
		Page: func(ctx context.Context, request paging.Request) (items []listedObject[T], next string, err error) {
			items, version, next, err = l.readPage(ctx, requests, request)
			// An empty page counts as one object, so that a list of empty pages ends at the limit.
			if objects += max(1, len(items)); err == nil && objects > l.limit {
				err = l.tooLarge(fmt.Sprintf("%d objects", l.limit))
			}
			return items, next, err
		},
	}
	leftOut, err = list.Each(ctx, func(item listedObject[T]) error {
		see(item.value)
		return nil
	})
	if err == nil && len(leftOut) > 0 && l.namespaceBytes == 0 {
		err = l.tooLarge(fmt.Sprintf("%d MiB", l.bytes>>20))
	}
	return version, leftOut, err
}

func (l objectList[T]) tooLarge(limit string) error {
	return &InventoryTooLargeError{Kind: l.kind, Namespace: l.namespace, Limit: limit}
}

// page is the response to a request for a page.
type page[T any] struct {
	Metadata listMetadata `json:"metadata"`
	Items    []T          `json:"items"`
}

type listMetadata struct {
	ResourceVersion string `json:"resourceVersion"`
	Continue        string `json:"continue"`
}

// readPage reads a page. Of one object that is too large, it reads the metadata.
func (l objectList[T]) readPage(
	ctx context.Context, requests rest.Interface, request paging.Request,
) (items []listedObject[T], version, next string, err error) {
	body, tooLarge := bodyOf(l.request(requests, request, l.accept).Do(ctx))
	isMetadata := paging.IsTooLarge(tooLarge) && request.Limit == 1 && l.partial != nil
	switch {
	case isMetadata:
		if body, err = bodyOf(l.request(requests, request, onlyMetadata).Do(ctx)); err != nil {
			return nil, "", "", err
		}
	case tooLarge != nil:
		return nil, "", "", tooLarge
	}
	items, about, err := l.decode(body, tooLarge)
	if err != nil {
		return nil, "", "", fmt.Errorf("reading a list of %s objects: %w", l.kind, err)
	}
	return items, about.ResourceVersion, about.Continue, nil
}

// ordinarySize is the size of an object up to which the objects of a page count as equally large.
const ordinarySize = 64 << 10

// decode reads the objects of a page. tooLarge is the reason why the page has only metadata, nil if
// it has more. The objects are read one by one if one of them cannot be read or is large.
func (l objectList[T]) decode(body []byte, tooLarge error) ([]listedObject[T], listMetadata, error) {
	var all page[T]
	if err := json.Unmarshal(body, &all); err == nil && tooLarge == nil && (l.namespaceOf == nil || len(body) <= len(all.Items)*ordinarySize) {
		items := make([]listedObject[T], len(all.Items))
		for i, value := range all.Items {
			items[i] = l.listed(value, len(body)/len(all.Items))
		}
		return items, all.Metadata, nil
	}
	var each page[json.RawMessage]
	if err := json.Unmarshal(body, &each); err != nil {
		return nil, listMetadata{}, err
	}
	items := make([]listedObject[T], len(each.Items))
	for i, object := range each.Items {
		value, err := l.decodeOne(object, tooLarge)
		if err != nil {
			return nil, listMetadata{}, err
		}
		items[i] = l.listed(value, len(object))
	}
	return items, each.Metadata, nil
}

func (l objectList[T]) listed(value T, size int) listedObject[T] {
	of := paging.Object{Size: size}
	if l.namespaceOf != nil {
		of.Namespace = l.namespaceOf(value)
	}
	return listedObject[T]{Object: of, value: value}
}

func (l objectList[T]) decodeOne(object json.RawMessage, tooLarge error) (value T, err error) {
	if tooLarge == nil {
		err = json.Unmarshal(object, &value)
	}
	if cause := cmp.Or(tooLarge, err); cause != nil && l.partial != nil {
		return l.partial(object, cause)
	}
	return value, err
}

func (l objectList[T]) request(requests rest.Interface, page paging.Request, accept string) *rest.Request {
	request := requests.Get().AbsPath(objectPath(l.namespace, l.resource)).Param("limit", strconv.FormatInt(page.Limit, 10))
	fields := ""
	if page.Without != "" {
		fields = "metadata.namespace!=" + page.Without
	}
	for name, value := range map[string]string{"labelSelector": l.selector, "fieldSelector": fields, "continue": page.Continue} {
		if value != "" {
			request = request.Param(name, value)
		}
	}
	if accept != "" {
		request = request.SetHeader("Accept", accept)
	}
	return request
}
