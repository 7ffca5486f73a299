package worker

import "time"

// UnderRace is true if the race detector is on.
const UnderRace = underRace

// Started returns how many workers were started or failed to start.
func (p *Pool) Started() int {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.started
}

// SetClock sets how long a call may take by the clock.
func (p *Pool) SetClock(limit time.Duration) { p.clock = limit }

// Waiting returns how many calls wait for a worker.
func (p *Pool) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()

	return len(p.waiting)
}

// ServeWithLandlockOnly is Serve without the limit of descriptors.
func ServeWithLandlockOnly(handlers map[string]Handler) {
	serve(handlers, landlockOnly)
}
