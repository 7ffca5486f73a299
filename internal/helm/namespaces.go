package helm

import (
	"context"
	"fmt"
	"sync"
)

// namespaces are those of one cluster that this process works in. All clients of the
// cluster share them, under any identity: a namespace that is empty for a moment, between
// a removal and an install, must not be deleted while somebody deploys to it.
type namespaces struct {
	mu     sync.Mutex
	byName map[string]*namespaceState
}

// namespaceState counts the operations of this process in one namespace.
type namespaceState struct {
	// isThere says that it was there a moment ago.
	isThere bool
	// writing is how many operations deploy to it.
	writing int
	// busy is closed when the one that makes or deletes it is done, nil if nobody does.
	busy chan struct{}
}

// of is called with the lock held.
func (n *namespaces) of(name string) *namespaceState {
	if n.byName == nil {
		n.byName = map[string]*namespaceState{}
	}
	if n.byName[name] == nil {
		n.byName[name] = &namespaceState{}
	}
	return n.byName[name]
}

// enter keeps a namespace from being deleted until leave is called. It waits while that
// is under way.
func (n *namespaces) enter(ctx context.Context, name string) (leave func(), err error) {
	state, err := n.idle(ctx, name)
	if err != nil {
		return nil, err
	}
	defer n.mu.Unlock()
	state.writing++
	return sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		state.writing--
	}), nil
}

// idle returns the state of a namespace that nobody makes or deletes, with the lock held.
func (n *namespaces) idle(ctx context.Context, name string) (*namespaceState, error) {
	for {
		n.mu.Lock()
		state := n.of(name)
		busy := state.busy
		if busy == nil {
			return state, nil
		}
		n.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the namespace %s: %w", name, context.Cause(ctx))
		}
	}
}

// make runs create unless the namespace was there a moment ago. Most releases of a bundle
// and many others share one: those that come meanwhile wait, and make it themselves if the
// first could not.
func (n *namespaces) make(ctx context.Context, name string, create func() error) error {
	state, err := n.idle(ctx, name)
	if err != nil {
		return err
	}
	if state.isThere {
		n.mu.Unlock()
		return nil
	}
	isMade, end := false, n.begin(state)
	defer func() { end(isMade) }()
	if err := create(); err != nil {
		return err
	}
	isMade = true
	return nil
}

// begin takes the state, with the lock held, for one that makes or deletes the namespace.
func (n *namespaces) begin(state *namespaceState) (end func(isThere bool)) {
	busy := make(chan struct{})
	state.busy = busy
	n.mu.Unlock()
	return func(isThere bool) {
		n.mu.Lock()
		defer n.mu.Unlock()
		state.isThere, state.busy = isThere, nil
		close(busy)
	}
}

// remove runs a function that deletes the namespace, or finds that it is not to be, unless
// somebody deploys to it. Who wants to meanwhile waits.
func (n *namespaces) remove(ctx context.Context, name string, remove func() error) (inUse bool, err error) {
	state, err := n.idle(ctx, name)
	if err != nil {
		return false, err
	}
	if state.writing > 0 {
		n.mu.Unlock()
		return true, nil
	}
	end := n.begin(state)
	defer end(false)
	return false, remove()
}

// forget makes the next install look whether the namespace is there.
func (n *namespaces) forget(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of(name).isThere = false
}
