package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

// attempts is how often a call is started if its worker ends before the handler runs.
const attempts = 3

// Pool runs calls on workers. Its methods may be called concurrently.
type Pool struct {
	options Options
	// clock is how long a call may take by the clock.
	clock   time.Duration
	refused refused
	// failures is the budget of Call, and attempts that of Try.
	failures, attempts budget
	// spawn starts a worker. It is startProcess, except in tests.
	spawn func(Options) (*process, error)

	mu sync.Mutex
	// idle are the workers without a call. The one used last is taken first.
	idle []*process
	// alive are all workers that have not exited; starting is the number of workers being started.
	alive    map[*process]struct{}
	starting int
	started  int
	// waiting are the calls that wait for a worker, the oldest first.
	waiting []chan grant
	closed  bool
	// running counts goroutines that run longer than a call.
	running sync.WaitGroup
}

// grant is what a waiting call receives.
type grant struct {
	worker *process
	err    error
}

// New returns a pool. It starts no worker.
func New(options Options) *Pool {
	options = options.withDefaults(availableMemory())

	return &Pool{
		options:  options,
		clock:    clockFactor * options.Timeout,
		failures: budget{limit: options.Budget},
		attempts: budget{limit: options.Budget},
		spawn:    startProcess,
		alive:    make(map[*process]struct{}),
	}
}

// availableMemory returns the memory limit of the container, else the memory of the machine, or 0
// if it is unknown.
func availableMemory() int64 {
	limit, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil || limit > 1<<62 {
		return 0
	}

	return int64(limit)
}

// Start starts the first worker in the background, ahead of the first call.
func (p *Pool) Start() {
	p.mu.Lock()
	defer p.mu.Unlock()

	if len(p.alive)+p.starting == 0 {
		p.start()
	}
}

// Call runs a method on a worker and decodes its result into response, unless response is nil. It
// waits for a worker if all are busy. It returns a [*HandlerError], a [*LimitError], a
// [*CrashError] or a [*BudgetError], the error of a worker that cannot be started, or wraps the error
// of ctx.
//
// A call that crashed a worker or exceeded a limit is not run again: Call returns the same error at
// once.
func (p *Pool) Call(ctx context.Context, method string, request, response any, ask Ask) error {
	return p.call(ctx, &p.failures, method, request, response, ask)
}

// Try is Call for a result that the caller can do without. Failures of Try have a budget of their
// own, so they prevent no Call.
func (p *Pool) Try(ctx context.Context, method string, request, response any, ask Ask) error {
	return p.call(ctx, &p.attempts, method, request, response, ask)
}

func (p *Pool) call(ctx context.Context, limit *budget, method string, request, response any, ask Ask) error {
	c, err := newCall(method, request, ask)
	if err != nil {
		return err
	}
	result, took, err := p.run(ctx, limit, c)
	if err == nil && response != nil {
		err = Unmarshal(result, response)
	}
	if failing, ok := response.(Failing); err != nil || ok && failing.Failed() {
		limit.spend(min(took, p.options.Timeout)) // What the machine did beside is not the call's.
	}

	return err
}

// Close ends all workers and waits until they have exited. Running calls return [ErrClosed].
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	for _, waiting := range p.waiting {
		waiting <- grant{err: ErrClosed}
	}
	p.waiting, p.idle = nil, nil
	for w := range p.alive {
		w.kill()
	}
	p.mu.Unlock()
	p.running.Wait()

	return nil
}

// run runs a call on the next free worker. If that worker ended before the handler began, the call
// did not cause it, and run uses another worker. It also returns how long the call ran.
func (p *Pool) run(ctx context.Context, limit *budget, c call) (result []byte, took time.Duration, err error) {
	id := c.id()
	for attempt := 1; ; attempt++ {
		if err := p.mayBegin(id, limit); err != nil {
			return nil, 0, err
		}
		w, err := p.acquire(ctx)
		if err != nil {
			return nil, 0, err
		}
		// Other calls may have failed while this one waited.
		if err := p.mayBegin(id, limit); err != nil {
			p.release(w)

			return nil, 0, err
		}
		begun := time.Now()
		result, err := p.runOn(ctx, w, id, c)
		if !errors.Is(err, errNotBegun) || attempt == attempts {
			return result, time.Since(begun), err
		}
	}
}

// mayBegin returns the error of an equal call that ended a worker, or that of a used up budget.
func (p *Pool) mayBegin(id callID, limit *budget) error {
	if err := p.refused.get(id); err != nil {
		return err
	}

	return limit.check()
}

// runOn runs a call on a worker within its time, and releases or ends the worker.
func (p *Pool) runOn(ctx context.Context, w *process, id callID, c call) ([]byte, error) {
	limited, cancel := context.WithTimeoutCause(ctx, p.clock, &LimitError{Limit: LimitTime, Value: p.clock.String()})
	defer cancel()
	stop := context.AfterFunc(limited, panics.RecoveringTo(ignore, "ending a worker", w.kill))

	result, err := w.exchange(limited, c)
	var handler *HandlerError
	if intact := err == nil || errors.As(err, &handler); stop() && intact {
		p.release(w)
	} else {
		w.kill()
	}
	if err == nil || handler != nil {
		return result, err
	}

	cause := p.explain(ctx, limited, err)
	if isCausedByCall(cause) && !errors.Is(err, errNotBegun) && !errors.Is(err, errLateResponse) {
		p.refused.add(id, cause)
	}

	return nil, cause
}

// explain returns why a call failed. It is needed because a worker that the pool killed looks like
// a worker that crashed.
func (p *Pool) explain(ctx, limited context.Context, err error) error {
	var (
		long    *tooLongError
		invalid *protocolError
	)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the call was cancelled: %w", ctx.Err())
	case p.isClosed():
		return ErrClosed
	case limited.Err() != nil:
		return context.Cause(limited)
	case errors.As(err, &long) && long.kind == frameResult:
		return &LimitError{Limit: LimitOutput, Value: formatBytes(p.options.Output)}
	case errors.As(err, &long):
		return &CrashError{Reason: long.Error()}
	case errors.As(err, &invalid):
		return &CrashError{Reason: invalid.Error()}
	default:
		return err
	}
}

// isCausedByCall reports whether the same call would fail again.
func isCausedByCall(err error) bool {
	var (
		limit *LimitError
		crash *CrashError
	)

	return errors.As(err, &limit) || errors.As(err, &crash)
}

func (p *Pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.closed
}

// acquire returns a free worker. If there is none, it starts a worker or waits for one.
func (p *Pool) acquire(ctx context.Context) (*process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("the call was cancelled: %w", err)
	}
	w, slot, err := p.takeOrQueue()
	if w != nil || err != nil {
		return w, err
	}
	select {
	case granted := <-slot:
		return granted.worker, granted.err
	case <-ctx.Done():
		p.leave(slot)

		return nil, fmt.Errorf("the call was cancelled: %w", ctx.Err())
	}
}

// takeOrQueue returns an idle worker, or the channel on which the call receives a worker.
func (p *Pool) takeOrQueue() (*process, chan grant, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.closed {
		return nil, nil, ErrClosed
	}
	for len(p.idle) > 0 {
		last := len(p.idle) - 1
		w := p.idle[last]
		p.idle = p.idle[:last]
		if !w.isDead() {
			return w, nil, nil
		}
	}
	slot := make(chan grant, 1)
	p.waiting = append(p.waiting, slot)
	p.startIfNeeded()

	return nil, slot, nil
}

// leave removes a call that no longer waits. It passes on a worker that the call received by then.
func (p *Pool) leave(slot chan grant) {
	p.mu.Lock()
	at := slices.Index(p.waiting, slot)
	if at >= 0 {
		p.waiting = slices.Delete(p.waiting, at, at+1)
	}
	p.mu.Unlock()
	if at >= 0 {
		return
	}
	if granted := <-slot; granted.worker != nil {
		p.release(granted.worker)
	}
}

// release gives a worker to the oldest waiting call, or keeps it for the next one.
func (p *Pool) release(w *process) {
	p.mu.Lock()
	defer p.mu.Unlock()

	switch {
	case p.closed, w.isDead():
		w.kill()
	case len(p.waiting) > 0:
		p.grant(grant{worker: w})
	default:
		p.idle = append(p.idle, w)
	}
}

// grant wakes the oldest waiting call. The caller locks p.mu.
func (p *Pool) grant(g grant) {
	slot := p.waiting[0]
	p.waiting = p.waiting[1:]
	slot <- g
}

// startIfNeeded starts a worker if more calls wait than workers are starting. The caller
// locks p.mu.
func (p *Pool) startIfNeeded() {
	if !p.closed && p.starting < len(p.waiting) && len(p.alive)+p.starting < p.options.Processes {
		p.start()
	}
}

// start starts a worker in the background. The caller locks p.mu.
func (p *Pool) start() {
	if p.closed {
		return
	}
	p.starting++
	p.running.Go(func() {
		var w *process
		err := panics.Recovering("starting a worker", func() (err error) {
			w, err = p.spawn(p.options)

			return err
		})()
		p.awaitReady(w, err)
	})
}

// awaitReady adds a started worker. On an error, the oldest waiting call gets that error.
func (p *Pool) awaitReady(w *process, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.starting--
	p.started++
	switch {
	case err != nil && len(p.waiting) > 0:
		p.grant(grant{err: err})
		p.startIfNeeded()

		return
	case err != nil:
		return
	}

	p.alive[w] = struct{}{}
	p.running.Go(panics.RecoveringTo(ignore, "forgetting a worker", func() {
		<-w.exited
		p.remove(w)
	}))
	switch {
	case p.closed:
		w.kill()
	case len(p.waiting) > 0:
		p.grant(grant{worker: w})
	default:
		p.idle = append(p.idle, w)
	}
}

// remove removes a worker that has exited, and starts another one if calls wait.
func (p *Pool) remove(w *process) {
	p.mu.Lock()
	defer p.mu.Unlock()

	delete(p.alive, w)
	p.idle = slices.DeleteFunc(p.idle, func(other *process) bool { return other == w })
	p.startIfNeeded()
}
