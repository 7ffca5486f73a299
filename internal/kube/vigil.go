package kube

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

// aim is what is waited for. R says what an object is like that is not as it should be.
type aim[R any] interface {
	// judge says what was seen of an object, and whether that is what is waited for.
	judge(object *resource.Info, got sight) (reason R, done bool, err error)
	// missed makes the error of what is left when waiting ends.
	missed(left []R) error
	// isHopeless says whether waiting for what is left is of no use.
	isHopeless(left []R, now time.Time) bool
	// due is when isHopeless is to be asked again, zero if any time is as good.
	due() time.Time
}

// vigil waits for objects. Watches of the API server report their changes. It looks
// itself at the beginning, at what is said to be deleted, where there can be no watch,
// and now and then also where there is one: what stands between may let nothing through.
type vigil[R any] struct {
	client  *Client
	aim     aim[R]
	pending []*resource.Info
	reasons map[*resource.Info]R
	// definitions are the custom resource definitions that were waited for, as they were
	// seen then.
	definitions []*unstructured.Unstructured
	// err is why the last look failed.
	err     error
	watches *watches
	// looks are the pauses between looks without a watch, and ticks those with one.
	looks, ticks pauses
}

func newVigil[R any](c *Client, objects []*resource.Info, of aim[R]) *vigil[R] {
	return &vigil[R]{
		client: c, aim: of, pending: slices.Clone(objects), reasons: map[*resource.Info]R{}, watches: newWatches(c),
		looks: pauses{next: retry.Unwatched().Pauses()}, ticks: pauses{next: retry.Watched().Pauses()},
	}
}

// pauses says when it is time again.
type pauses struct {
	next func() time.Duration
	at   time.Time
}

func (p *pauses) begin() { p.at = time.Now().Add(p.next()) }

// isOver says whether the time is over. A context with a deadline reports it a
// moment later, and a request between the two fails without having been made.
func isOver(ctx context.Context) bool {
	deadline, ends := ctx.Deadline()
	return ctx.Err() != nil || ends && !time.Now().Before(deadline)
}

// answered judges objects by what the API server answered when they were written, and
// gives those that have to be looked at.
func (v *vigil[R]) answered() []*resource.Info {
	var unseen []*resource.Info
	for _, object := range slices.Clone(v.pending) {
		answer := answerOf(object)
		if answer == nil {
			unseen = append(unseen, object)
			continue
		}
		reason, done, err := v.aim.judge(object, sight{object: answer})
		if err != nil || done && !isTelling(answer) {
			unseen = append(unseen, object)
			continue
		}
		v.note(object, sight{object: answer}, reason, done)
	}
	return unseen
}

// keep waits until nothing is pending, ctx ends, or it is of no use. Objects that
// nothing is known of are looked at first.
func (v *vigil[R]) keep(ctx context.Context, unseen []*resource.Info) error {
	defer v.watches.all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v.look(ctx, unseen)
	v.looks.begin()
	v.ticks.begin()
	for len(v.pending) > 0 && !isOver(ctx) {
		if v.err == nil && v.aim.isHopeless(v.left(), time.Now()) {
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
func (v *vigil[R]) await(ctx context.Context) {
	alone := v.watches.uncovered(v.pending)
	all := v.ticks.at
	if due := v.aim.due(); !due.IsZero() && due.Before(all) {
		all = due
	}
	wake := all
	if v.err != nil || len(alone) > 0 && v.looks.at.Before(all) {
		wake = v.looks.at
	}
	timer := time.NewTimer(time.Until(wake))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case heard := <-v.watches.news:
		v.hear(ctx, heard)
	case <-timer.C:
		if isOver(ctx) {
			return
		}
		if v.err == nil && time.Now().Before(all) {
			v.look(ctx, alone)
		} else {
			v.look(ctx, v.pending)
			v.ticks.begin()
		}
		v.looks.begin()
		v.watches.rested()
	}
}

// hear processes the events that watches have sent until now.
func (v *vigil[R]) hear(ctx context.Context, heard news) {
	doubtful := v.take(heard)
	for more := true; more; {
		select {
		case heard = <-v.watches.news:
			doubtful = append(doubtful, v.take(heard)...)
		default:
			more = false
		}
	}
	isDoubtful := func(object *resource.Info) bool { return slices.Contains(doubtful, object) }
	if slices.ContainsFunc(v.pending, isDoubtful) {
		v.look(ctx, slices.DeleteFunc(slices.Clone(v.pending), func(object *resource.Info) bool { return !isDoubtful(object) }))
	}
}

// take takes in one piece of news and gives what has to be looked at because of it.
// That something was deleted is no proof that it is gone: it can be there again, or have
// lost the label by which it is watched.
func (v *vigil[R]) take(heard news) (doubtful []*resource.Info) {
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
		got := sight{object: heard.object}
		reason, done, err := v.aim.judge(object, got)
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

// look sees for itself. What could not be seen stays pending.
func (v *vigil[R]) look(ctx context.Context, objects []*resource.Info) {
	var failure error
	all := len(objects) == len(v.pending)
	seen := v.client.reader.look(ctx, objects, whole)
	for _, object := range slices.Clone(objects) {
		reason, done, err := v.aim.judge(object, seen[object])
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

func (v *vigil[R]) note(object *resource.Info, got sight, reason R, done bool) {
	v.watches.saw(object, got.object)
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

// left is why objects are pending, in their order.
func (v *vigil[R]) left() []R {
	left := make([]R, 0, len(v.pending))
	for _, object := range v.pending {
		if reason, known := v.reasons[object]; known {
			left = append(left, reason)
		}
	}
	return left
}

// result says what was missing when it was looked last.
func (v *vigil[R]) result(ctx context.Context) error {
	switch {
	case len(v.pending) == 0:
		return nil
	case v.err != nil:
		return v.err
	case len(v.reasons) == 0 && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return v.aim.missed(v.left())
}
