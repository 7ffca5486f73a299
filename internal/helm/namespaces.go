package helm

import (
	"context"
	"fmt"
	"sync"
)

// namespaces are the namespaces of one cluster that this process uses. All clients of the
// cluster share them, under any identity. Between a removal and an install, a namespace can be
// empty for a moment. It must not be deleted while another operation deploys to it.
type namespaces struct {
	mu     sync.Mutex
	byName map[string]*namespaceState
}

// namespaceState counts the operations of this process in one namespace.
type namespaceState struct {
	// isThere is true if the namespace existed a moment ago.
	isThere bool
	// writing is how many operations deploy to the namespace.
	writing int
	// busy is closed when the creation or deletion of the namespace has ended. It is nil if
	// none is in progress.
	busy chan struct{}
}

// of returns the state of a namespace. It is called with the lock held.
func (n *namespaces) of(name string) *namespaceState {
	if n.byName == nil {
		n.byName = map[string]*namespaceState{}
	}
	if n.byName[name] == nil {
		n.byName[name] = &namespaceState{}
	}
	return n.byName[name]
}

// enter keeps a namespace from being deleted until leave is called. It waits for the end of a
// creation or deletion in progress.
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

// idle waits until no operation creates or deletes a namespace, and returns its state with the
// lock held.
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

// make runs create unless the namespace existed a moment ago. Most releases of a bundle, and
// many other releases, share a namespace. While create runs, other calls wait. If create
// fails, the next call runs its own.
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

// begin marks the state as busy with a creation or deletion. It is called with the lock held
// and releases it.
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

// remove runs a function that deletes the namespace or decides not to, unless an operation
// deploys to the namespace. In the meantime, calls of enter wait.
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

// forget makes the next install check whether the namespace exists.
func (n *namespaces) forget(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of(name).isThere = false
}
