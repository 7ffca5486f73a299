// Package paging reads lists of API servers page by page. Any client of a cluster can make its
// objects large. So a page that is too large shrinks, and a namespace that takes too much is left
// out: the other namespaces are read.
package paging

import (
	"context"
	"errors"
	"slices"
	"time"
)

// maxTime is the maximum time for all pages of one list. An API server could return a next page
// forever.
const maxTime = 5 * time.Minute

// Request is the request for one page.
type Request struct {
	// Limit is the maximum number of objects.
	Limit int64
	// Continue is the token of the page before, "" for the first page.
	Continue string
	// Without is a namespace whose objects are not wanted, "" for none. Lists are in the order of
	// namespaces, so objects of namespaces that were left out before do not follow.
	Without string
}

// Object is what a list has to know of an object.
type Object struct {
	Namespace string
	// Size is the size that counts, in bytes.
	Size int
}

// List is a list of objects, and its limits.
type List[T any] struct {
	// Page reads a page. next is the token of the next page, "" after the last one. The error for a
	// response that is too large has the method TooLarge() bool.
	Page func(ctx context.Context, request Request) (items []T, next string, err error)
	// Measure returns what the list has to know of an item.
	Measure func(item T) Object
	// Limit is the maximum number of objects in a page.
	Limit int64
	// Namespace is the maximum size of the objects of one namespace. Total is that of all: if they
	// are larger, the largest namespaces are left out.
	Namespace, Total int
}

var errSamePage = errors.New("the API server returned a page of a list twice")

// Each calls see for each object, until see returns an error. It returns the namespaces that are left
// out, sorted. see can have been called for some of their objects.
func (l List[T]) Each(ctx context.Context, see func(item T) error) (leftOut []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	sizes, request := sizes{limit: l.Namespace, total: l.Total, of: map[string]int{}}, Request{Limit: l.Limit}
	for {
		items, next, err := l.Page(ctx, request)
		switch {
		case IsTooLarge(err) && request.Limit > 1:
			request.Limit /= 2
			continue
		case err != nil:
			return nil, err
		}
		for _, item := range items {
			of := l.Measure(item)
			request.Without = ""
			if !sizes.add(of) {
				request.Without = of.Namespace
				continue
			}
			if err := see(item); err != nil {
				return nil, err
			}
		}
		isRestUnwanted := slices.Contains(sizes.leftOut, "") // Its objects have no namespace.
		if next == "" || isRestUnwanted {
			slices.Sort(sizes.leftOut)
			return sizes.leftOut, nil
		}
		if next == request.Continue {
			return nil, errSamePage
		}
		request.Continue, request.Limit = next, min(l.Limit, 2*request.Limit)
	}
}

// sizes are the sizes of namespaces.
type sizes struct {
	limit, total int
	of           map[string]int
	sum          int
	leftOut      []string
}

// add adds an object, and reports whether its namespace is not left out.
func (s *sizes) add(object Object) bool {
	if slices.Contains(s.leftOut, object.Namespace) {
		return false
	}
	s.of[object.Namespace] += object.Size
	s.sum += object.Size
	if s.of[object.Namespace] > s.limit {
		s.leaveOut(object.Namespace)
		return false
	}
	for s.sum > s.total {
		s.leaveOut(s.largest())
	}
	return !slices.Contains(s.leftOut, object.Namespace)
}

func (s *sizes) leaveOut(namespace string) {
	s.leftOut = append(s.leftOut, namespace)
	s.sum -= s.of[namespace]
	delete(s.of, namespace)
}

// largest returns the largest namespace, and the first of several by name.
func (s *sizes) largest() string {
	found, size := "", -1
	for namespace, of := range s.of {
		if of > size || of == size && namespace < found {
			found, size = namespace, of
		}
	}
	return found
}

// IsTooLarge reports whether a response is larger than its limit.
func IsTooLarge(err error) bool {
	var response interface{ TooLarge() bool }
	return errors.As(err, &response) && response.TooLarge()
}
