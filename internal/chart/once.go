package chart

import (
	"context"
	"sync"

	"golang.org/x/sync/singleflight"
)

// once keeps what was made for a key, or why it could not be made: a server that
// does not answer is not asked again for each of a thousand bundles.
type once[V any] struct {
	making singleflight.Group
	mu     sync.Mutex
	made   map[string]outcome[V]
}

type outcome[V any] struct {
	value V
	err   error
}

// get answers what was made for key. Who comes first makes it for all, and when
// that one gives up the next takes over.
func (o *once[V]) get(ctx context.Context, key string, create func() (V, error)) (V, error) {
	for {
		if known, ok := o.known(key); ok {
			return known.value, known.err
		}
		if ctx.Err() != nil {
			var none V
			return none, cancelled(ctx, "fetching a chart")
		}
		running := o.making.DoChan(key, func() (any, error) {
			value, err := create()
			if err != nil && ctx.Err() != nil {
				return nil, err
			}
			o.keep(key, outcome[V]{value, err})
			return nil, nil
		})
		select {
		case <-ctx.Done():
		case <-running:
		}
	}
}

func (o *once[V]) known(key string) (outcome[V], bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known, ok := o.made[key]
	return known, ok
}

func (o *once[V]) keep(key string, result outcome[V]) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made == nil {
		o.made = map[string]outcome[V]{}
	}
	o.made[key] = result
}
