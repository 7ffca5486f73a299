package kube

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

// waitCondition is what is waited for. R says what an object is like that is not as it should be.
type waitCondition[R any] interface {
	// evaluate says what was seen of an object, and whether that is what is waited for.
	evaluate(object *resource.Info, got readResult) (reason R, done bool, err error)
	// timeoutError makes the error of what is left when waiting ends.
	timeoutError(left []R) error
	// isHopeless says whether waiting for what is left is of no use.
	isHopeless(left []R, now time.Time) bool
	// nextCheck is when isHopeless is to be asked again, zero if any time is as good.
	nextCheck() time.Time
}

// waiter waits for objects. Watches of the API server report their changes. It looks
// itself at the beginning, at what is said to be deleted, where there can be no watch,
// and now and then also where there is one: what stands between may let nothing through.
type waiter[R any] struct {
	client    *Client
	condition waitCondition[R]
	pending   []*resource.Info
	reasons   map[*resource.Info]R
	// definitions are the custom resource definitions that were waited for, as they were
	// seen then.
	definitions []*unstructured.Unstructured
	// err is why the last look failed.
	err error
	// report is called with why objects are pending, nil for nobody.
	report  func(left []R)
	watches *watches
	// polls are the pauses between looks without a watch, and ticks those with one.
	polls, pollIntervals backoff
}

func newWaiter[R any](c *Client, objects []*resource.Info, of waitCondition[R]) *waiter[R] {
	return &waiter[R]{
		client: c, condition: of, pending: slices.Clone(objects), reasons: map[*resource.Info]R{}, watches: newWatches(c),
		polls: backoff{next: retry.Unwatched().Pauses()}, pollIntervals: backoff{next: retry.Watched().Pauses()},
	}
}

// backoff says when it is time again.
type backoff struct {
	next func() time.Duration
	at   time.Time
}

func (p *backoff) begin() { p.at = time.Now().Add(p.next()) }

// isOver says whether the time is over. A context with a deadline reports it a
// moment later, and a request between the two fails without having been made.
func isOver(ctx context.Context) bool {
	deadline, ends := ctx.Deadline()
	return ctx.Err() != nil || ends && !time.Now().Before(deadline)
}

// evaluateResponses judges objects by what the API server answered when they were written, and
// gives those that have to be looked at.
func (v *waiter[R]) evaluateResponses() []*resource.Info {
	var unseen []*resource.Info
	for _, object := range slices.Clone(v.pending) {
		answer := answerOf(object)
		if answer == nil {
			unseen = append(unseen, object)
			continue
		}
		reason, done, err := v.condition.evaluate(object, readResult{object: answer})
		if err != nil || done && !isConclusive(answer) {
			unseen = append(unseen, object)
			continue
		}
		v.note(object, readResult{object: answer}, reason, done)
	}
	return unseen
}

// wait waits until nothing is pending, ctx ends, or it is of no use. Objects that
// nothing is known of are looked at first.
func (v *waiter[R]) wait(ctx context.Context, unseen []*resource.Info) error {
	defer v.watches.all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v.poll(ctx, unseen)
	v.polls.begin()
	v.pollIntervals.begin()
	for len(v.pending) > 0 && !isOver(ctx) {
		if v.report != nil {
			v.report(v.unmetReasons())
		}
		if v.err == nil && v.condition.isHopeless(v.unmetReasons(), time.Now()) {
			break
		}
		if v.err == nil {
			v.watches.cover(ctx, v.pending)
		}
		v.await(ctx)
	}
	return v.result(ctx)
}

// await returns when something has happened, or it is time to look, which it does.
func (v *waiter[R]) await(ctx context.Context) {
	alone := v.watches.unwatched(v.pending)
	all := v.pollIntervals.at
	if due := v.condition.nextCheck(); !due.IsZero() && due.Before(all) {
		all = due
	}
	wake := all
	if v.err != nil || len(alone) > 0 && v.polls.at.Before(all) {
		wake = v.polls.at
	}
	timer := time.NewTimer(time.Until(wake))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case heard := <-v.watches.events:
		v.receive(ctx, heard)
	case <-timer.C:
		if isOver(ctx) {
			return
		}
		if v.err == nil && time.Now().Before(all) {
			v.poll(ctx, alone)
		} else {
			v.poll(ctx, v.pending)
			v.pollIntervals.begin()
		}
		v.polls.begin()
		v.watches.resume()
	}
}

// receive processes the events that watches have sent until now.
func (v *waiter[R]) receive(ctx context.Context, heard watchEvent) {
	doubtful := v.handle(heard)
	for more := true; more; {
		select {
		case heard = <-v.watches.events:
			doubtful = append(doubtful, v.handle(heard)...)
		default:
			more = false
		}
	}
	isDoubtful := func(object *resource.Info) bool { return slices.Contains(doubtful, object) }
	if slices.ContainsFunc(v.pending, isDoubtful) {
		v.poll(ctx, slices.DeleteFunc(slices.Clone(v.pending), func(object *resource.Info) bool { return !isDoubtful(object) }))
	}
}

// handle takes in one piece of news and gives what has to be looked at because of it.
// That something was deleted is no proof that it is gone: it can be there again, or have
// lost the label by which it is watched.
func (v *waiter[R]) handle(heard watchEvent) (doubtful []*resource.Info) {
	for _, object := range slices.Clone(v.pending) {
		if groupOf(object) != heard.of || heard.object != nil && heard.object.GetName() != object.Name {
			continue
		}
		if heard.object != nil && v.watches.isOld(object, heard.object) {
			continue
		}
		if heard.object == nil || heard.deleted {
			doubtful = append(doubtful, object)
			continue
		}
		got := readResult{object: heard.object}
		reason, done, err := v.condition.evaluate(object, got)
		if err != nil {
			doubtful = append(doubtful, object)
			continue
		}
		v.note(object, got, reason, done)
	}
	if heard.ended {
		v.watches.ended(heard)
		return nil // It is time to look when the pause is over.
	}
	return doubtful
}

// poll sees for itself. What could not be seen stays pending.
func (v *waiter[R]) poll(ctx context.Context, objects []*resource.Info) {
	var failure error
	all := len(objects) == len(v.pending)
	seen := v.client.reader.read(ctx, objects, whole)
	for _, object := range slices.Clone(objects) {
		reason, done, err := v.condition.evaluate(object, seen[object])
		if err != nil {
			if failure == nil {
				failure = err
			}
			continue
		}
		v.note(object, seen[object], reason, done)
	}
	switch {
	case failure == nil && all:
		v.err = nil
	case failure != nil && (!isOver(ctx) || len(v.reasons) == 0 && v.err == nil):
		v.err = failure
	}
}

func (v *waiter[R]) note(object *resource.Info, got readResult, reason R, done bool) {
	v.watches.observe(object, got.object)
	if !done {
		v.reasons[object] = reason
		return
	}
	if got.object != nil && isDefinition(got.object) {
		v.definitions = append(v.definitions, got.object)
	}
	delete(v.reasons, object)
	v.pending = slices.DeleteFunc(v.pending, func(o *resource.Info) bool { return o == object })
	if !slices.ContainsFunc(v.pending, func(o *resource.Info) bool { return groupOf(o) == groupOf(object) }) {
		v.watches.stop(groupOf(object))
	}
}

// unmetReasons is why objects are pending, in their order.
func (v *waiter[R]) unmetReasons() []R {
	left := make([]R, 0, len(v.pending))
	for _, object := range v.pending {
		if reason, known := v.reasons[object]; known {
			left = append(left, reason)
		}
	}
	return left
}

// result says what was missing when it was looked last.
func (v *waiter[R]) result(ctx context.Context) error {
	switch {
	case len(v.pending) == 0:
		return nil
	case v.err != nil:
		return v.err
	case len(v.reasons) == 0 && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return v.condition.timeoutError(v.unmetReasons())
}
