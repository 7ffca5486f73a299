package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Condition is why one object is not ready.
type Condition struct {
	Object  string // such as "Deployment web/nginx"
	Status  string // kstatus: InProgress, Failed, Terminating, NotFound or Unknown
	Message string
	// ended says that no controller will look at the object again.
	ended bool
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

// Unready counts them.
func (e *NotReadyError) Unready() int { return len(e.Objects) }

// NotGoneError lists the objects that were not deleted in time.
type NotGoneError struct{ Objects []Leftover }

// Leftover is an object that should be gone.
type Leftover struct {
	Object string
	// Finalizers hold up the deletion.
	Finalizers []string
	// Deleting says whether the deletion has begun.
	Deleting bool
}

func (e *NotGoneError) Error() string {
	lines := make([]string, len(e.Objects))
	for i, left := range e.Objects {
		lines[i] = left.Object
		switch {
		case !left.Deleting:
			lines[i] += " (not being deleted: somebody made it again)"
		case len(left.Finalizers) > 0:
			lines[i] += " (held by the finalizers " + strings.Join(left.Finalizers, ", ") + ")"
		}
	}
	return "still there: " + strings.Join(lines, "; ")
}

// delays between looks grow from a tenth of a second to two seconds.
func delays() wait.DelayFunc {
	const growth, limit = 1.5, 2 * time.Second
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: growth, Cap: limit, Steps: 10}.DelayFunc()
}

// WaitReady returns when every object that counts was seen ready by kstatus. It fails
// with a *NotReadyError when ctx ends, or earlier when an object has failed and
// waiting is of no use.
func (c *Client) WaitReady(ctx context.Context, objects []*resource.Info, counts release.Readiness) error {
	pending := waitedFor(objects, counts.Jobs)
	var failing failure
	return until(ctx, func(ctx context.Context) (err error, final bool) {
		pending, err = c.notReady(ctx, pending, counts.Ignore)
		notReady, ok := errors.AsType[*NotReadyError](err)
		return err, ok && failing.isFinal(notReady.Objects, time.Now())
	})
}

// failurePatience is how long an object may count as failed before waiting ends.
// What an upgrade does not touch can still be failed when it begins, such as a
// Deployment whose progress deadline passed while the Secret was missing that
// the upgrade brings.
const failurePatience = 10 * time.Second

// failure remembers since when some object has failed.
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
	return now.Sub(f.since) >= failurePatience || slices.ContainsFunc(objects, func(object Condition) bool { return object.ended })
}

// until looks again and again until there is no error, or a final one. When ctx
// ends, the error of the last look that was completed says what was missing.
func until(ctx context.Context, look func(context.Context) (err error, final bool)) error {
	var last error
	ended := delays().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err, final := look(ctx)
		if ctx.Err() == nil || last == nil {
			last = err
		}
		if final {
			return false, err
		}
		return err == nil, nil
	})
	if ended != nil && last != nil {
		return last
	}
	return ended
}

// Ready looks once and fails with a *NotReadyError if an object is not ready.
func (c *Client) Ready(ctx context.Context, objects []*resource.Info, counts release.Readiness) error {
	_, err := c.notReady(ctx, waitedFor(objects, counts.Jobs), counts.Ignore)
	return err
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

func isJob(object *resource.Info) bool {
	return isA(object, batchv1.SchemeGroupVersion.WithKind("Job"))
}

func isPod(object *resource.Info) bool { return isA(object, corev1.SchemeGroupVersion.WithKind("Pod")) }

func isA(object *resource.Info, kind schema.GroupVersionKind) bool {
	return object.Mapping.GroupVersionKind.GroupKind() == kind.GroupKind()
}

// notReady answers those objects that are not ready, and why.
func (c *Client) notReady(ctx context.Context, objects []*resource.Info, ignore []map[string]string) ([]*resource.Info, error) {
	live, err := c.live(ctx, objects)
	if err != nil {
		return objects, err
	}
	var (
		left    []*resource.Info
		reasons []Condition
	)
	for _, object := range objects {
		condition, ready, err := conditionOf(object, withoutIgnored(live[object], ignore))
		if err != nil {
			return objects, err
		}
		if !ready {
			left = append(left, object)
			reasons = append(reasons, condition)
		}
	}
	if len(left) == 0 {
		return nil, nil
	}
	return left, &NotReadyError{Objects: reasons}
}

func conditionOf(object *resource.Info, live *unstructured.Unstructured) (Condition, bool, error) {
	condition := Condition{Object: describe(object)}
	if live == nil {
		condition.Status, condition.Message = status.NotFoundStatus.String(), "it does not exist"
		return condition, false, nil
	}
	computed, err := status.Compute(live)
	if err != nil {
		return condition, false, fmt.Errorf("reading the status of %s: %w", condition.Object, err)
	}
	condition.Status, condition.Message = computed.Status.String(), computed.Message
	switch {
	case isPod(object) && phase(live) == corev1.PodFailed:
		// To kstatus a pod that has ended is as wanted, however it ended.
		condition.Status, condition.ended = status.FailedStatus.String(), true
	case computed.Status == status.FailedStatus:
		condition.ended = isJob(object)
	case computed.Status != status.CurrentStatus:
	case isJob(object) && !isComplete(live):
		condition.Status, condition.Message = status.InProgressStatus.String(), "the job is not complete"
	default:
		return condition, true, nil
	}
	return condition, false, nil
}

// phase is that of a pod, "" when it has none.
func phase(pod *unstructured.Unstructured) corev1.PodPhase {
	text, _, err := unstructured.NestedString(pod.Object, "status", "phase")
	if err != nil {
		return ""
	}
	return corev1.PodPhase(text)
}

// isComplete tells a job that is done from one that has only started, which is
// enough for kstatus.
func isComplete(job *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(job.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, item := range conditions {
		condition, ok := item.(map[string]any)
		if ok && condition["type"] == string(batchv1.JobComplete) && condition["status"] == string(corev1.ConditionTrue) {
			return true
		}
	}
	return false
}

// WaitGone returns when every object was seen to be gone. It fails with a
// *NotGoneError when ctx ends. An object that somebody made again under the same
// name counts as still there.
func (c *Client) WaitGone(ctx context.Context, objects []*resource.Info) error {
	pending := objects
	return until(ctx, func(ctx context.Context) (err error, final bool) {
		pending, err = c.notGone(ctx, pending)
		return err, false
	})
}

func (c *Client) notGone(ctx context.Context, objects []*resource.Info) ([]*resource.Info, error) {
	live, err := c.live(ctx, objects)
	if err != nil {
		return objects, err
	}
	var (
		left    []*resource.Info
		reasons []Leftover
	)
	for _, object := range objects {
		found := live[object]
		if found == nil {
			continue
		}
		left = append(left, object)
		reasons = append(reasons, Leftover{
			Object: describe(object), Finalizers: found.GetFinalizers(), Deleting: found.GetDeletionTimestamp() != nil,
		})
	}
	if len(left) == 0 {
		return nil, nil
	}
	return left, &NotGoneError{Objects: reasons}
}

// describe names an object: "Deployment web/nginx", "Namespace web".
func describe(object *resource.Info) string {
	name := object.Name
	if object.Namespace != "" {
		name = object.Namespace + "/" + name
	}
	return object.Mapping.GroupVersionKind.Kind + " " + name
}
