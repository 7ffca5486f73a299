package kube

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// depth is how much of objects is read.
type depth int

const (
	// whole objects, of those that Helm manages.
	whole depth = iota
	// onlyMetadata, of all.
	onlyMetadata
)

// sharedKey is what one list can contain.
type sharedKey struct {
	group group
	depth depth
}

// readList lists those of a group that are wanted, and says whether it has seen all.
type readList func(ctx context.Context, key sharedKey, wanted map[string]bool) (found map[string]*unstructured.Unstructured, complete bool, err error)

// lists are shared by all who read the same group at the same time, such as the
// releases of one namespace: without that, each of them would list the objects of all.
// What somebody is given was always read after they asked: who asks while a list is
// under way waits for the next one.
//
// golang.org/x/sync/singleflight gives the response to a request that was begun before.
type lists struct {
	mu      sync.Mutex
	running map[sharedKey]bool
	next    map[sharedKey]*sharedList
}

// sharedList is one list, from the moment somebody wants it.
type sharedList struct {
	key     sharedKey
	read    readList
	wanted  map[string]bool
	waiting int
	//nolint:containedctx // it ends when nobody waits for the list any more
	ctx    context.Context
	cancel context.CancelFunc

	done     chan struct{}
	found    map[string]*unstructured.Unstructured
	complete bool
	err      error
}

// read returns objects by name, including others than those requested, which nobody
// must change.
func (l *lists) read(ctx context.Context, key sharedKey, names []string, read readList) (map[string]*unstructured.Unstructured, bool, error) {
	list := l.join(ctx, key, names, read)
	select {
	case <-list.done:
		return list.found, list.complete, list.err
	case <-ctx.Done():
		l.leave(list)
		return nil, false, context.Cause(ctx)
	}
}

// join puts names on the next list and begins it if none is under way.
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

// begin reads the next list, and the one that is wanted by then after it.
func (l *lists) begin(key sharedKey) {
	list := l.next[key]
	delete(l.next, key)
	l.running[key] = true
	go func() {
		if err := status.Recovering("listing objects", func() error {
			list.found, list.complete, list.err = list.read(list.ctx, key, list.wanted)
			return nil
		})(); err != nil {
			list.found, list.complete, list.err = nil, false, err
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

// leave gives up waiting for a list. When nobody waits any more, it ends.
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
