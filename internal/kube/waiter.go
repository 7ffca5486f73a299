package kube

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

// waitCondition is the condition that a waiter waits for. R describes why an object does not meet
// it.
type waitCondition[R any] interface {
	// evaluate reports whether an object meets the condition. reason describes an object that does
	// not.
	evaluate(object *resource.Info, got readResult) (reason R, done bool, err error)
	// timeoutError makes the error for the objects that are pending when waiting ends.
	timeoutError(left []R) error
	// isHopeless reports whether waiting for the pending objects is useless.
	isHopeless(left []R, now time.Time) bool
	// nextCheck returns when isHopeless has to be called again, zero for no particular time.
	nextCheck() time.Time
}

// waiter waits for objects. Watches of the API server report their changes. The waiter also reads
// objects itself: at the beginning, when an event reports a deletion, and where no watch is
// possible. From time to time it also reads objects with a watch, because a proxy may let no events
// through.
type waiter[R any] struct {
	client    *Client
	condition waitCondition[R]
	pending   []*resource.Info
	reasons   map[*resource.Info]R
	// definitions are the custom resource definitions that met the condition, as they were read.
	definitions []*unstructured.Unstructured
	// err is the error of the last poll that failed, nil after a poll of all pending objects
	// without a failure.
	err error
	// report is called with the reasons of the pending objects. It can be nil.
	report  func(left []R)
	watches *watches
	// polls are the pauses between polls of the objects without a watch. pollIntervals are the
	// pauses between polls of all objects.
	polls, pollIntervals backoff
}

func newWaiter[R any](c *Client, objects []*resource.Info, of waitCondition[R]) *waiter[R] {
	return &waiter[R]{
		client: c, condition: of, pending: slices.Clone(objects), reasons: map[*resource.Info]R{}, watches: newWatches(c),
		polls: backoff{next: retry.Unwatched().Pauses()}, pollIntervals: backoff{next: retry.Watched().Pauses()},
	}
}

// backoff computes the time of the next poll.
type backoff struct {
	next func() time.Duration
	at   time.Time
}

func (p *backoff) begin() { p.at = time.Now().Add(p.next()) }

// isOver reports whether ctx has ended or its deadline has passed. A context with a deadline ends a
// moment after the deadline, and a request in that moment fails before it is sent.
func isOver(ctx context.Context) bool {
	deadline, ends := ctx.Deadline()
	return ctx.Err() != nil || ends && !time.Now().Before(deadline)
}

// evaluateResponses evaluates objects by the responses to their writes, and returns the objects
// that have to be read.
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

// wait waits until no object is pending, ctx ends, or waiting is useless. The objects in unseen are
// read first.
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

// await returns after an event of a watch, after a poll that is due, or when ctx ends.
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

// receive processes the events that watches have sent so far.
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

// handle processes one event and returns the objects that have to be read because of it. A deletion
// event does not prove that an object is missing. The object can exist again, or it can have lost
// the label that the watch selects.
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
		return nil // The objects are read when the pause is over.
	}
	return doubtful
}

// poll reads objects. Objects that could not be read stay pending.
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

// unmetReasons returns why objects are pending, in their order.
func (v *waiter[R]) unmetReasons() []R {
	left := make([]R, 0, len(v.pending))
	for _, object := range v.pending {
		if reason, known := v.reasons[object]; known {
			left = append(left, reason)
		}
	}
	return left
}

// result returns nil if no object is pending. Otherwise it returns the error of the last poll, the
// cause of ctx, or the error of the condition.
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
