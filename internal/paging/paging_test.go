package paging_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/paging"
)

// item is an object named namespace/name.
type item struct {
	key  string
	size int
}

func (i item) namespace() string {
	namespace, _, _ := strings.Cut(i.key, "/")
	return namespace
}

type tooLargeError struct{}

func (tooLargeError) Error() string  { return "too large" }
func (tooLargeError) TooLarge() bool { return true }

// server is a list in the order of an API server. A page of more than 100 bytes is too large.
type server struct {
	items []item
	// requests are the requests that were sent.
	requests []string
}

func (s *server) page(_ context.Context, request paging.Request) (items []item, next string, err error) {
	s.requests = append(s.requests, strings.TrimSpace(fmt.Sprintf("%d from %s %s", request.Limit, request.Continue, request.Without)))
	at, _ := strconv.Atoi(request.Continue)
	size := 0
	for ; at < len(s.items) && int64(len(items)) < request.Limit; at++ {
		if of := s.items[at]; request.Without == "" || of.namespace() != request.Without {
			items, size = append(items, of), size+of.size
		}
	}
	if size > 100 {
		return nil, "", fmt.Errorf("listing: %w", tooLargeError{})
	}
	if at < len(s.items) {
		next = strconv.Itoa(at)
	}
	return items, next, nil
}

func TestEach(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		items    []item
		seen     []string
		leftOut  []string
		requests []string
		isError  bool
	}{
		"one page": {
			items: []item{{"a/1", 10}, {"b/1", 10}}, seen: []string{"a/1", "b/1"}, requests: []string{"4 from"},
		},
		"an empty list": {requests: []string{"4 from"}},
		"a page that is too large": {
			items: []item{{"a/1", 30}, {"b/1", 50}, {"c/1", 30}, {"d/1", 1}, {"e/1", 1}},
			seen:  []string{"a/1", "b/1", "c/1", "d/1", "e/1"}, requests: []string{"4 from", "2 from", "4 from 2"},
		},
		"objects that fit one by one": {
			items: []item{{"a/1", 60}, {"b/1", 60}}, seen: []string{"a/1", "b/1"},
			requests: []string{"4 from", "2 from", "1 from", "2 from 1"},
		},
		"an object that does not fit": {
			items: []item{{"a/1", 101}}, isError: true, requests: []string{"4 from", "2 from", "1 from"},
		},
		"a namespace that is too large": {
			items: []item{{"a/1", 10}, {"b/1", 30}, {"b/2", 20}, {"b/3", 30}, {"b/4", 30}, {"b/5", 30}, {"c/1", 10}},
			seen:  []string{"a/1", "b/1", "b/2", "c/1"}, leftOut: []string{"b"}, requests: []string{"4 from", "4 from 4 b"},
		},
		"objects without a namespace that are too large": {
			items: []item{{"/1", 10}, {"/2", 30}, {"/3", 20}, {"/4", 30}, {"/5", 30}, {"/6", 30}, {"/7", 10}, {"/8", 10}, {"/9", 10}},
			seen:  []string{"/1", "/2", "/3"}, leftOut: []string{""}, requests: []string{"4 from"},
		},
		"namespaces that are too large together": {
			items: []item{{"a/1", 40}, {"b/1", 50}, {"c/1", 10}, {"d/1", 50}, {"e/1", 50}},
			seen:  []string{"a/1", "b/1", "c/1", "d/1", "e/1"}, leftOut: []string{"b", "d"},
			requests: []string{"4 from", "2 from", "4 from 2", "2 from 2", "4 from 4"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := &server{items: test.items}
			list := paging.List[item]{
				Page: from.page, Measure: func(of item) paging.Object { return paging.Object{Namespace: of.namespace(), Size: of.size} },
				Limit: 4, Namespace: 60, Total: 120,
			}
			var seen []string
			leftOut, err := list.Each(t.Context(), func(of item) error {
				seen = append(seen, of.key)
				return nil
			})
			if (err != nil) != test.isError || err != nil && !paging.IsTooLarge(err) {
				t.Errorf("error: %v, want one: %t", err, test.isError)
			}
			if diff := cmp.Diff(test.seen, seen); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.leftOut, leftOut); diff != "" {
				t.Errorf("namespaces that are left out (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.requests, from.requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// A list ends if an API server repeats a page.
func TestEachOfTheSamePage(t *testing.T) {
	t.Parallel()
	list := paging.List[item]{
		Page:    func(context.Context, paging.Request) ([]item, string, error) { return nil, "more", nil },
		Measure: func(item) paging.Object { return paging.Object{} }, Limit: 4,
	}
	if _, err := list.Each(t.Context(), func(item) error { return nil }); err == nil {
		t.Error("no error")
	}
}

// A list ends when the caller has seen enough.
func TestEachUntilAnError(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	from := &server{items: []item{{"a/1", 1}, {"a/2", 1}, {"a/3", 1}}}
	list := paging.List[item]{
		Page: from.page, Measure: func(item) paging.Object { return paging.Object{} }, Limit: 2,
	}
	if _, err := list.Each(t.Context(), func(item) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("error: %v", err)
	}
	if diff := cmp.Diff([]string{"2 from"}, from.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestIsTooLarge(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{tooLargeError{}: true, errors.New("another"): false} {
		if got := paging.IsTooLarge(err); got != want {
			t.Errorf("%v: got %t", err, got)
		}
	}
}
