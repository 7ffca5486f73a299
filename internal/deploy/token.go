package deploy

import (
	"context"
	"fmt"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

var _ release.Token = (*token)(nil)

// token is the right of one operation to be in flight, or to wait beside those that are.
type token struct {
	engine *Engine

	mu   sync.Mutex
	held tokenState
}

// tokenState is where an operation is.
type tokenState int

const (
	released tokenState = iota
	inFlight
	waiting
)

// acquire waits until one more operation may be in flight.
func (e *Engine) acquire(ctx context.Context) (*token, error) {
	if err := e.tokens.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("not started: %w", err)
	}
	return &token{engine: e, held: inFlight}, nil
}

// Yield makes room for another operation while this one only waits, unless too many do,
// and says whether it has. What is left to do after that is little and needs no room.
func (s *token) Yield() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == inFlight && s.engine.waiting.TryAcquire(1) {
		s.held = waiting
		s.engine.tokens.Release(1)
	}
	return s.held == waiting
}

// Resume is in flight again, for more than that little.
func (s *token) Resume(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == inFlight {
		return nil
	}
	if err := s.engine.tokens.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("not continued: %w", err)
	}
	if s.held == waiting {
		s.engine.waiting.Release(1)
	}
	s.held = inFlight
	return nil
}

// Pause gives back what is held.
func (s *token) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.held {
	case inFlight:
		s.engine.tokens.Release(1)
	case waiting:
		s.engine.waiting.Release(1)
	case released:
	}
	s.held = released
}
