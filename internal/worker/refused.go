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
	order  []callID // Of the calls in errors, the oldest first.
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
	if r.order = append(r.order, id); len(r.order) > maxRefused {
		delete(r.errors, r.order[0])
		r.order = r.order[1:]
	}
}
