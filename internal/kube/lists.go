package kube

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

// depth is how much of each object is read.
type depth int

const (
	// completeObjects reads complete objects. A list contains only those that Helm manages.
	completeObjects depth = iota
	// onlyMetadata reads only metadata. A list contains all objects.
	onlyMetadata
)

// sharedKey identifies a list that several callers can share.
type sharedKey struct {
	group group
	depth depth
}

// namedObjects are the objects of a group by name.
type namedObjects = map[string]*unstructured.Unstructured

// readList lists the wanted objects of a group, and reports whether it has read all of the group.
type readList func(ctx context.Context, key sharedKey, wanted map[string]bool) (found namedObjects, complete bool, err error)

// lists shares one list between all callers that read the same group at the same time, such as the
// releases of one namespace. Otherwise each release would list the objects of all releases. A list
// always begins after the call: a caller that arrives while a list is running waits for the next
// one.
//
// golang.org/x/sync/singleflight returns the response to a request that began before the call.
type lists struct {
	mu      sync.Mutex
	running map[sharedKey]bool
	next    map[sharedKey]*sharedList
}

// sharedList is one list, from the first call that needs it.
type sharedList struct {
	key     sharedKey
	read    readList
	wanted  map[string]bool
	waiting int
	//nolint:containedctx // it ends when no caller waits for the list any more
	ctx    context.Context
	cancel context.CancelFunc

	done     chan struct{}
	found    namedObjects
	complete bool
	err      error
}

// read returns objects by name. They can include objects that were not requested. The caller must
// not change them.
func (l *lists) read(ctx context.Context, key sharedKey, names []string, read readList) (namedObjects, bool, error) {
	list := l.join(ctx, key, names, read)
	select {
	case <-list.done:
		return list.found, list.complete, list.err
	case <-ctx.Done():
		l.leave(list)
		return nil, false, context.Cause(ctx)
	}
}

// join adds names to the next list, and begins that list if no other is running.
func (l *lists) join(ctx context.Context, key sharedKey, names []string, read readList) *sharedList {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next, l.running = map[sharedKey]*sharedList{}, map[sharedKey]bool{}
	}
	list := l.next[key]
	if list == nil {
		list = &sharedList{key: key, read: read, wanted: map[string]bool{}, done: make(chan struct{})}
		list.ctx, list.cancel = context.WithCancel(context.WithoutCancel(ctx))
		l.next[key] = list
	}
	list.waiting++
	for _, name := range names {
		list.wanted[name] = true
	}
	if !l.running[key] {
		l.begin(key)
	}
	return list
}

// begin reads the next list, and then the list that callers have requested in the meantime.
func (l *lists) begin(key sharedKey) {
	list := l.next[key]
	delete(l.next, key)
	l.running[key] = true
	go func() {
		if err := panics.Recovering("listing objects", func() error {
			list.found, list.complete, list.err = list.read(list.ctx, key, list.wanted)
			return nil
		})(); err != nil {
			list.found = nil
			list.complete = false
			list.err = err
		}
		list.cancel()
		close(list.done)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.running, key)
		if l.next[key] != nil {
			l.begin(key)
		}
	}()
}

// leave stops waiting for a list. A list that no caller waits for is cancelled.
func (l *lists) leave(list *sharedList) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if list.waiting--; list.waiting > 0 {
		return
	}
	list.cancel()
	if l.next[list.key] == list {
		delete(l.next, list.key)
	}
}
