package run

import (
	"context"
	"fmt"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

var _ release.Slot = (*slot)(nil)

// slot is the right of one operation to be in flight, or to wait in addition to those in flight.
type slot struct {
	runner *Runner

	mu   sync.Mutex
	held slotState
}

// slotState is what the operation may do with its slot.
type slotState int

const (
	released slotState = iota
	inFlight
	waiting
)

// acquire waits until one more operation may be in flight.
func (r *Runner) acquire(ctx context.Context) (*slot, error) {
	if err := r.slots.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("not started: %w", err)
	}
	return &slot{runner: r, held: inFlight}, nil
}

// Yield makes room for another operation while this one only waits, unless too many do. The work after
// the wait is small and needs no slot.
func (s *slot) Yield() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == inFlight && s.runner.waiting.TryAcquire(1) {
		s.held = waiting
		s.runner.slots.Release(1)
	}
}

// Resume makes the operation count as in flight again, for more work than that.
func (s *slot) Resume(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == inFlight {
		return nil
	}
	if err := s.runner.slots.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("not continued: %w", err)
	}
	if s.held == waiting {
		s.runner.waiting.Release(1)
	}
	s.held = inFlight
	return nil
}

// Pause gives back the slot of the operation.
func (s *slot) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.held {
	case inFlight:
		s.runner.slots.Release(1)
	case waiting:
		s.runner.waiting.Release(1)
	case released:
	}
	s.held = released
}
