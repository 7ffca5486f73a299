package kube

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

// waiter waits until objects meet a condition. R describes why an object does not meet it. Watches of
// the API server report changes of the objects. The waiter also reads
// objects itself: at the beginning, when an event reports a deletion, and where no watch is
// possible. From time to time it also reads objects with a watch, because a proxy may let no events
// through.
type waiter[R any] struct {
	client *Client
	// evaluate reports whether an object meets the condition. reason describes an object that does
	// not.
	evaluate func(object *resource.Info, got readResult) (reason R, done bool, err error)
	// isHopeless reports whether waiting for the pending objects is useless, and when it has to be
	// called again, zero for no particular time. It can be nil.
	isHopeless func(unmet []R, now time.Time) (hopeless bool, next time.Time)
	nextCheck  time.Time
	pending    []*resource.Info
	reasons    map[*resource.Info]R
	// definitions are the custom resource definitions that met the condition, as they were read.
	definitions []*unstructured.Unstructured
	// err is the error of the last poll that failed, nil after a poll of all pending objects
	// without a failure.
	err error
	// report is called with the reasons of the pending objects. It can be nil.
	report  func(unmet []R)
	watches *watches
	// polls are the pauses between polls of the objects without a watch. pollIntervals are the
	// pauses between polls of all objects.
	polls, pollIntervals backoff
}

func newWaiter[R any](c *Client, objects []*resource.Info, evaluate func(*resource.Info, readResult) (R, bool, error)) *waiter[R] {
	return &waiter[R]{
		client: c, evaluate: evaluate, pending: slices.Clone(objects), reasons: map[*resource.Info]R{}, watches: newWatches(c),
		polls: backoff{next: retry.Unwatched().Pauses()}, pollIntervals: backoff{next: retry.Watched().Pauses()},
	}
}

// backoff computes the time of the next poll.
type backoff struct {
	next func() time.Duration
	at   time.Time
}

func (b *backoff) begin() { b.at = time.Now().Add(b.next()) }

// isOver reports whether ctx has ended or its deadline has passed. A context with a deadline ends a
// moment after the deadline, and a request in that moment fails before it is sent.
func isOver(ctx context.Context) bool {
	deadline, ends := ctx.Deadline()
	return ctx.Err() != nil || ends && !time.Now().Before(deadline)
}

// evaluateResponses evaluates objects by the responses to their writes, and returns the objects
// that have to be read.
func (w *waiter[R]) evaluateResponses() []*resource.Info {
	var unseen []*resource.Info
	for _, object := range slices.Clone(w.pending) {
		answer := answerOf(object)
		if answer == nil {
			unseen = append(unseen, object)
			continue
		}
		reason, done, err := w.evaluate(object, readResult{object: answer})
		if err != nil || done && !isConclusive(answer) {
			unseen = append(unseen, object)
			continue
		}
		w.note(object, readResult{object: answer}, reason, done)
	}
	return unseen
}

// wait waits until no object is pending, ctx ends, or waiting is useless. It returns why objects are
// pending. The objects in unseen are read first.
func (w *waiter[R]) wait(ctx context.Context, unseen []*resource.Info) (unmet []R, err error) {
	defer w.watches.all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.poll(ctx, unseen)
	w.polls.begin()
	w.pollIntervals.begin()
	for len(w.pending) > 0 && !isOver(ctx) {
		if w.report != nil {
			w.report(w.unmetReasons())
		}
		if w.err == nil && w.check() {
			break
		}
		if w.err == nil {
			w.watches.cover(ctx, w.pending)
		}
		w.await(ctx)
	}
	return w.result(ctx)
}

// check calls isHopeless.
func (w *waiter[R]) check() (hopeless bool) {
	if w.isHopeless != nil {
		hopeless, w.nextCheck = w.isHopeless(w.unmetReasons(), time.Now())
	}
	return hopeless
}

// await returns after an event of a watch, after a poll that is due, or when ctx ends.
func (w *waiter[R]) await(ctx context.Context) {
	alone := w.watches.unwatched(w.pending)
	all := w.pollIntervals.at
	if !w.nextCheck.IsZero() && w.nextCheck.Before(all) {
		all = w.nextCheck
	}
	wake := all
	if w.err != nil || len(alone) > 0 && w.polls.at.Before(all) {
		wake = w.polls.at
	}
	timer := time.NewTimer(time.Until(wake))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case heard := <-w.watches.events:
		w.receive(ctx, heard)
	case <-timer.C:
		if isOver(ctx) {
			return
		}
		if w.err == nil && time.Now().Before(all) {
			w.poll(ctx, alone)
		} else {
			w.poll(ctx, w.pending)
			w.pollIntervals.begin()
		}
		w.polls.begin()
		w.watches.resume()
	}
}

// receive processes the events that watches have sent so far.
func (w *waiter[R]) receive(ctx context.Context, heard watchEvent) {
	doubtful := w.handle(heard)
	for more := true; more; {
		select {
		case heard = <-w.watches.events:
			doubtful = append(doubtful, w.handle(heard)...)
		default:
			more = false
		}
	}
	isDoubtful := func(object *resource.Info) bool { return slices.Contains(doubtful, object) }
	if slices.ContainsFunc(w.pending, isDoubtful) {
		w.poll(ctx, slices.DeleteFunc(slices.Clone(w.pending), func(object *resource.Info) bool { return !isDoubtful(object) }))
	}
}

// handle processes one event and returns the objects that have to be read because of it. A deletion
// event does not prove that an object is missing. The object can exist again, or it can have lost
// the label that the watch selects.
func (w *waiter[R]) handle(heard watchEvent) (doubtful []*resource.Info) {
	for _, object := range slices.Clone(w.pending) {
		if groupOf(object) != heard.of || heard.object != nil && heard.object.GetName() != object.Name {
			continue
		}
		if heard.object != nil && w.watches.isOld(object, heard.object) {
			continue
		}
		if heard.object == nil || heard.deleted {
			doubtful = append(doubtful, object)
			continue
		}
		if err := w.see(object, readResult{object: heard.object}); err != nil {
			doubtful = append(doubtful, object)
		}
	}
	if heard.ended {
		w.watches.ended(heard)
		return nil // The objects are read when the pause is over.
	}
	return doubtful
}

// poll reads objects. Objects that could not be read stay pending.
func (w *waiter[R]) poll(ctx context.Context, objects []*resource.Info) {
	var failure error
	all := len(objects) == len(w.pending)
	seen := w.client.reader.read(ctx, objects, completeObjects)
	for _, object := range slices.Clone(objects) {
		if err := w.see(object, seen[object]); err != nil && failure == nil {
			failure = err
		}
	}
	switch {
	case failure == nil && all:
		w.err = nil
	case failure != nil && (!isOver(ctx) || len(w.reasons) == 0 && w.err == nil):
		w.err = failure
	}
}

// see evaluates an object as it was read.
func (w *waiter[R]) see(object *resource.Info, got readResult) error {
	reason, done, err := w.evaluate(object, got)
	if err == nil {
		w.note(object, got, reason, done)
	}
	return err
}

func (w *waiter[R]) note(object *resource.Info, got readResult, reason R, done bool) {
	w.watches.observe(object, got.object)
	if !done {
		w.reasons[object] = reason
		return
	}
	if got.object != nil && isDefinition(got.object) {
		w.definitions = append(w.definitions, got.object)
	}
	delete(w.reasons, object)
	w.pending = slices.DeleteFunc(w.pending, func(o *resource.Info) bool { return o == object })
	if !slices.ContainsFunc(w.pending, func(o *resource.Info) bool { return groupOf(o) == groupOf(object) }) {
		w.watches.stop(groupOf(object))
	}
}

// unmetReasons returns why objects are pending, in their order.
func (w *waiter[R]) unmetReasons() []R {
	left := make([]R, 0, len(w.pending))
	for _, object := range w.pending {
		if reason, known := w.reasons[object]; known {
			left = append(left, reason)
		}
	}
	return left
}

// result returns why objects are pending. It returns an error if the last poll failed, or if ctx ended
// before any object was read.
func (w *waiter[R]) result(ctx context.Context) (unmet []R, err error) {
	switch {
	case len(w.pending) == 0:
		return nil, nil
	case w.err != nil:
		return nil, w.err
	case len(w.reasons) == 0 && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return w.unmetReasons(), nil
}
