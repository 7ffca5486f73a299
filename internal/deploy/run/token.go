package run

import (
	"context"
	"fmt"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

var _ release.Token = (*token)(nil)

// token is the right of one operation to be in flight, or to wait in addition to those in flight.
type token struct {
	runner *Runner

	mu   sync.Mutex
	held tokenState
}

// tokenState is what the operation may do with its token.
type tokenState int

const (
	released tokenState = iota
	inFlight
	waiting
)

// acquire waits until one more operation may be in flight.
func (r *Runner) acquire(ctx context.Context) (*token, error) {
	if err := r.tokens.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("not started: %w", err)
	}
	return &token{runner: r, held: inFlight}, nil
}

// Yield makes room for another operation while this one only waits, unless too many do. It reports
// whether it made room. The work after the wait is small and needs no slot.
func (s *token) Yield() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == inFlight && s.runner.waiting.TryAcquire(1) {
		s.held = waiting
		s.runner.tokens.Release(1)
	}
	return s.held == waiting
}

// Resume makes the operation count as in flight again, for more work than that.
func (s *token) Resume(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == inFlight {
		return nil
	}
	if err := s.runner.tokens.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("not continued: %w", err)
	}
	if s.held == waiting {
		s.runner.waiting.Release(1)
	}
	s.held = inFlight
	return nil
}

// Pause gives back the slot of the operation.
func (s *token) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.held {
	case inFlight:
		s.runner.tokens.Release(1)
	case waiting:
		s.runner.waiting.Release(1)
	case released:
	}
	s.held = released
}
