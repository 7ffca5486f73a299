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
	return e.text(func(object string) string { return object })
}

// Template is the text with kinds in place of objects, see status.Template.
func (e *NotReadyError) Template() string {
	return e.text(func(object string) string {
		kind, _, _ := strings.Cut(object, " ")
		return kind
	})
}

func (e *NotReadyError) text(nameOf func(object string) string) string {
	lines := make([]string, len(e.Objects))
	for i, object := range e.Objects {
		lines[i] = fmt.Sprintf("%s is %s: %s", nameOf(object.Object), object.Status, object.Message)
	}
	return "not ready: " + strings.Join(lines, "; ")
}

// Unready returns the number of objects that are not ready.
func (e *NotReadyError) Unready() int { return len(e.Objects) }

// notReady returns the error for objects that are not ready, and err if that is set.
func notReady(objects []Condition, err error) error {
	if err != nil || len(objects) == 0 {
		return err
	}
	return &NotReadyError{Objects: objects}
}

// WaitReady returns when kstatus has reported every object that counts as ready. It fails with a
// *NotReadyError when ctx ends, or earlier when an object has failed and waiting is useless. The
// error contains the causes that pods and events report. The response to the write of an object is
// used where it is reliable; see isConclusive. A custom resource definition is ready once discovery
// lists its kind.
func (c *Client) WaitReady(ctx context.Context, objects []*resource.Info, counts release.Readiness) error {
	steady := newSteadiness(c, objects, counts)
	if err := steady.begin(ctx); err != nil {
		return err
	}
	seen := LiveObjects{}
	w := newReadyWaiter(c, objects, counts, seen)
	w.isHopeless = new(failure).isFinal
	if counts.Pending != nil {
		w.report = func(unmet []Condition) {
			if len(unmet) > 0 {
				counts.Pending(unmet[0].unready(), len(unmet))
			}
		}
	}
	by := newExplainer(c, counts)
	unmet, err := w.wait(ctx, w.evaluateResponses())
	by.explain(ctx, unmet, w.pending, seen)
	if err == nil && len(unmet) == 0 {
		unmet, err = steady.wait(ctx, seen, w.report)
		by.restarted = true
		by.explain(ctx, unmet, objects, seen)
	}
	if err == nil && len(unmet) == 0 {
		unmet, err = c.waitServed(ctx, w.definitions)
	}
	return notReady(unmet, err)
}

// Ready checks the objects once and fails with a *NotReadyError if an object is not ready. It uses
// responses to writes as WaitReady does, unless it has to explain why an object is not ready.
func (c *Client) Ready(ctx context.Context, objects []*resource.Info, counts release.Readiness) error {
	seen := LiveObjects{}
	w := newReadyWaiter(c, objects, counts, seen)
	unseen := w.pending
	if !counts.Explains {
		unseen = w.evaluateResponses()
	}
	w.poll(ctx, unseen)
	unmet, err := w.result(ctx)
	if counts.Explains {
		newExplainer(c, counts).explain(ctx, unmet, w.pending, seen)
	}
	return notReady(unmet, err)
}

// newReadyWaiter returns a waiter for objects that are to become ready. It keeps the objects as they
// were last read in seen.
func newReadyWaiter(c *Client, objects []*resource.Info, counts release.Readiness, seen LiveObjects) *waiter[Condition] {
	objects = slices.DeleteFunc(slices.Clone(objects), func(object *resource.Info) bool { return isJob(object) && !counts.Jobs })
	return newWaiter(c, objects, func(object *resource.Info, got readResult) (Condition, bool, error) {
		if got.err != nil {
			return Condition{}, false, got.err
		}
		seen[object] = got.object
		return conditionOf(object, withoutIgnored(got.object, counts.Ignore))
	})
}

// WaitDeleted returns when every object was found missing. Its error lists the objects that were not
// deleted when ctx ends. An object that was created again under the same name counts as existing.
func (c *Client) WaitDeleted(ctx context.Context, objects []*resource.Info) error {
	w := newWaiter(c, objects, func(object *resource.Info, got readResult) (string, bool, error) {
		if got.err != nil || got.object == nil {
			return "", got.err == nil, got.err
		}
		return leftover(object, got.object), false, nil
	})
	leftovers, err := w.wait(ctx, w.pending)
	if err != nil || len(leftovers) == 0 {
		return err
	}
	return fmt.Errorf("not deleted: %s", strings.Join(leftovers, "; "))
}

// leftover names an object that should no longer exist, and says what delays its deletion.
func leftover(object *resource.Info, live *unstructured.Unstructured) string {
	finalizers := live.GetFinalizers()
	switch {
	case live.GetDeletionTimestamp() == nil:
		return describe(object) + " (not being deleted: it was created again)"
	case len(finalizers) > 0:
		return describe(object) + " (waiting for the finalizers " + strings.Join(finalizers, ", ") + ")"
	}
	return describe(object)
}

// failureTimeout is how long an object may count as failed before waiting ends. An object that an
// upgrade does not change can still be failed when the upgrade begins. For example, the progress
// deadline of a Deployment has passed, because a Secret was missing that the upgrade adds.
const failureTimeout = 10 * time.Second

// failure records since when at least one object has failed.
type failure struct{ since time.Time }

// isFinal reports whether waiting for objects that are not ready is useless, and when it has to be
// asked again, zero for no particular time.
func (f *failure) isFinal(objects []Condition, now time.Time) (final bool, next time.Time) {
	hasFailed := func(object Condition) bool { return object.Status == status.FailedStatus.String() }
	if !slices.ContainsFunc(objects, hasFailed) {
		f.since = time.Time{}
		return false, time.Time{}
	}
	if f.since.IsZero() {
		f.since = now
	}
	next = f.since.Add(failureTimeout)
	return !now.Before(next) || slices.ContainsFunc(objects, func(object Condition) bool { return object.ended }), next
}

// describe names an object: "Deployment web/nginx", "Namespace web".
func describe(object *resource.Info) string {
	name := object.Name
	if object.Namespace != "" {
		name = object.Namespace + "/" + name
	}
	return object.Mapping.GroupVersionKind.Kind + " " + name
}
