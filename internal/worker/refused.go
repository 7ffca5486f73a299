package worker

import (
	"crypto/sha256"
	"sync"
)

// maxRefused limits the memory of refused calls.
const maxRefused = 256

// callID identifies equal calls.
type callID [sha256.Size]byte

// refused stores the calls that ended a worker, with their errors.
type refused struct {
	mu     sync.Mutex
	errors map[callID]error
	// order is the order of the calls in errors. Once it is full, the oldest is at next.
	order []callID
	next  int
}

func (r *refused) get(id callID) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.errors[id]
}

// add stores a call and drops the oldest one if there are too many.
func (r *refused) add(id callID, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if _, known := r.errors[id]; known {
		return
	}
	if r.errors == nil {
		r.errors = make(map[callID]error)
	}
	r.errors[id] = err
	if len(r.order) < maxRefused {
		r.order = append(r.order, id)

		return
	}
	delete(r.errors, r.order[r.next])
	r.order[r.next] = id
	r.next = (r.next + 1) % maxRefused
}
