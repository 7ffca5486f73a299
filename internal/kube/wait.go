package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Condition describes why one object is not ready.
type Condition struct {
	Object  string // such as "Deployment web/nginx"
	Status  string // kstatus: InProgress, Failed, Terminating, NotFound or Unknown
	Message string
	// ended is true if no controller will process the object again.
	ended bool
}

func (c Condition) unready() release.Unready {
	return release.Unready{Object: c.Object, Reason: c.Status + ": " + c.Message}
}

// NotReadyError lists the objects that are not ready.
type NotReadyError struct{ Objects []Condition }

func (e *NotReadyError) Error() string {
	lines := make([]string, len(e.Objects))
	for i, object := range e.Objects {
		lines[i] = fmt.Sprintf("%s is %s: %s", object.Object, object.Status, object.Message)
	}
	return "not ready: " + strings.Join(lines, "; ")
}

// Template is the text with kinds in place of objects, see status.Template.
func (e *NotReadyError) Template() string {
	lines := make([]string, len(e.Objects))
	for i, object := range e.Objects {
		kind, _, _ := strings.Cut(object.Object, " ")
		lines[i] = fmt.Sprintf("%s is %s: %s", kind, object.Status, object.Message)
	}
	return "not ready: " + strings.Join(lines, "; ")
}

// Unready returns the number of objects that are not ready.
func (e *NotReadyError) Unready() int { return len(e.Objects) }

// NotDeletedError lists the objects that were not deleted in time.
type NotDeletedError struct{ Objects []Leftover }

// Leftover is an object that should no longer exist.
type Leftover struct {
	Object string
	// Finalizers delay the deletion.
	Finalizers []string
	// Deleting is true if the deletion has begun.
	Deleting bool
}

func (e *NotDeletedError) Error() string {
	lines := make([]string, len(e.Objects))
	for i, left := range e.Objects {
		lines[i] = left.Object
		switch {
		case !left.Deleting:
			lines[i] += " (not being deleted: it was created again)"
		case len(left.Finalizers) > 0:
			lines[i] += " (waiting for the finalizers " + strings.Join(left.Finalizers, ", ") + ")"
		}
	}
	return "not deleted: " + strings.Join(lines, "; ")
}

// WaitReady returns when kstatus has reported every object that counts as ready. It fails with a
// *NotReadyError when ctx ends, or earlier when an object has failed and waiting is useless. The
// error contains the causes that pods and events report. The response to the write of an object is
// used where it is reliable; see isConclusive. A custom resource definition is ready once discovery
// lists its kind.
func (c *Client) WaitReady(ctx context.Context, objects []*resource.Info, counts release.Readiness) error {
	ready := &readiness{ignore: counts.Ignore, seen: map[*resource.Info]*unstructured.Unstructured{}}
	steady := newSteadiness(c, objects, counts)
	if err := steady.begin(ctx); err != nil {
		return err
	}
	v := newWaiter(c, waitedFor(objects, counts.Jobs), ready)
	if counts.Pending != nil {
		v.report = func(left []Condition) {
			if len(left) > 0 {
				counts.Pending(left[0].unready(), len(left))
			}
		}
	}
	if err := v.wait(ctx, v.evaluateResponses()); err != nil {
		c.explain(ctx, err, v.pending, ready.seen, explanation{logs: counts.Logs})
		return err
	}
	if err := steady.wait(ctx, ready.seen, v.report); err != nil {
		c.explain(ctx, err, objects, ready.seen, explanation{logs: counts.Logs, restarted: true})
		return err
	}
	return c.waitServed(ctx, v.definitions)
}

// Ready checks the objects once and fails with a *NotReadyError if an object is not ready. It uses
// responses to writes as WaitReady does, unless it has to explain why an object is not ready.
func (c *Client) Ready(ctx context.Context, objects []*resource.Info, counts release.Readiness) error {
	ready := &readiness{ignore: counts.Ignore}
	v := newWaiter(c, waitedFor(objects, counts.Jobs), ready)
	if counts.Explains {
		ready.seen = map[*resource.Info]*unstructured.Unstructured{}
		v.poll(ctx, v.pending)
		err := v.result(ctx)
		c.explain(ctx, err, v.pending, ready.seen, explanation{logs: counts.Logs})
		return err
	}
	if unseen := v.evaluateResponses(); len(unseen) > 0 {
		v.poll(ctx, unseen)
	}
	return v.result(ctx)
}

// WaitDeleted returns when every object was found missing. It fails with a *NotDeletedError when ctx
// ends. An object that was created again under the same name counts as existing.
func (c *Client) WaitDeleted(ctx context.Context, objects []*resource.Info) error {
	v := newWaiter(c, objects, absence{})
	return v.wait(ctx, v.pending)
}

// readiness is the waitCondition for objects that are to become ready.
type readiness struct {
	ignore  []map[string]string
	failing failure
	// seen contains the objects as they were last read. It is nil if the caller does not need them.
	seen map[*resource.Info]*unstructured.Unstructured
}

func (r *readiness) evaluate(object *resource.Info, got readResult) (Condition, bool, error) {
	if got.err != nil {
		return Condition{}, false, got.err
	}
	if r.seen != nil {
		r.seen[object] = got.object
	}
	return conditionOf(object, withoutIgnored(got.object, r.ignore))
}

func (r *readiness) timeoutError(left []Condition) error { return &NotReadyError{Objects: left} }

func (r *readiness) isHopeless(left []Condition, now time.Time) bool {
	return r.failing.isFinal(left, now)
}

func (r *readiness) nextCheck() time.Time {
	if r.failing.since.IsZero() {
		return time.Time{}
	}
	return r.failing.since.Add(failureTimeout)
}

// absence is the waitCondition for objects that are to be deleted.
type absence struct{}

func (absence) evaluate(object *resource.Info, got readResult) (Leftover, bool, error) {
	if got.err != nil || got.object == nil {
		return Leftover{}, got.err == nil, got.err
	}
	return Leftover{
		Object: describe(object), Finalizers: got.object.GetFinalizers(), Deleting: got.object.GetDeletionTimestamp() != nil,
	}, false, nil
}

func (absence) timeoutError(left []Leftover) error { return &NotDeletedError{Objects: left} }

func (absence) isHopeless([]Leftover, time.Time) bool { return false }

func (absence) nextCheck() time.Time { return time.Time{} }

// failureTimeout is how long an object may count as failed before waiting ends. An object that an
// upgrade does not change can still be failed when the upgrade begins. For example, the progress
// deadline of a Deployment has passed, because a Secret was missing that the upgrade adds.
const failureTimeout = 10 * time.Second

// failure records since when at least one object has failed.
type failure struct{ since time.Time }

func (f *failure) isFinal(objects []Condition, now time.Time) bool {
	hasFailed := func(object Condition) bool { return object.Status == status.FailedStatus.String() }
	if !slices.ContainsFunc(objects, hasFailed) {
		f.since = time.Time{}
		return false
	}
	if f.since.IsZero() {
		f.since = now
	}
	return now.Sub(f.since) >= failureTimeout || slices.ContainsFunc(objects, func(object Condition) bool { return object.ended })
}

func waitedFor(objects []*resource.Info, jobs bool) []*resource.Info {
	var counted []*resource.Info
	for _, object := range objects {
		if jobs || !isJob(object) {
			counted = append(counted, object)
		}
	}
	return counted
}

// describe names an object: "Deployment web/nginx", "Namespace web".
func describe(object *resource.Info) string {
	name := object.Name
	if object.Namespace != "" {
		name = object.Namespace + "/" + name
	}
	return object.Mapping.GroupVersionKind.Kind + " " + name
}
