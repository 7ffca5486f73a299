package deploy

import (
	"context"
	"fmt"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

var _ release.Turn = (*slot)(nil)

// slot is the right of one operation to be in flight, or to wait beside those that are.
type slot struct {
	engine *Engine

	mu   sync.Mutex
	held place
}

// place is where an operation is.
type place int

const (
	nowhere place = iota
	inFlight
	waiting
)

// slot waits until one more operation may be in flight.
func (e *Engine) slot(ctx context.Context) (*slot, error) {
	if err := e.slots.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("not started: %w", err)
	}
	return &slot{engine: e, held: inFlight}, nil
}

// Rest makes room for another operation while this one only waits, unless too many do,
// and says whether it has. What is left to do after that is little and needs no room.
func (s *slot) Rest() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == inFlight && s.engine.waiting.TryAcquire(1) {
		s.held = waiting
		s.engine.slots.Release(1)
	}
	return s.held == waiting
}

// Resume is in flight again, for more than that little.
func (s *slot) Resume(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == inFlight {
		return nil
	}
	if err := s.engine.slots.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("not continued: %w", err)
	}
	if s.held == waiting {
		s.engine.waiting.Release(1)
	}
	s.held = inFlight
	return nil
}

// Pause gives back what is held.
func (s *slot) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.held {
	case inFlight:
		s.engine.slots.Release(1)
	case waiting:
		s.engine.waiting.Release(1)
	case nowhere:
	}
	s.held = nowhere
}
