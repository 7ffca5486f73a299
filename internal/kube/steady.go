package kube

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

// maxRestarts is the number of restarts of a container at which a deployment fails. Programs that
// wait for their database restart once or twice.
const maxRestarts = 3

// steadiness waits until containers without a readiness probe have run for a time. The kubelet
// reports such a container as ready as soon as it has started, also one that ends a moment later.
type steadiness struct {
	client *Client
	// readyFor is how long a container has to run.
	readyFor  time.Duration
	workloads []*unprobed
}

// unprobed is an object that makes pods, as far as some of their containers have no readiness probe.
type unprobed struct {
	object *resource.Info
	kind   string
	// containers are the names of the containers without a readiness probe.
	containers []string
	selector   string
	// runs are the containers by pod, as they were last seen.
	runs map[types.UID]map[string]containerRun
}

// containerRun is the time since when a container has run without a restart.
type containerRun struct {
	restarts int32
	// before are the restarts before the operation.
	before int32
	// since is zero if the container does not run.
	since time.Time
}

// newSteadiness returns the wait for objects that an operation has changed.
func newSteadiness(c *Client, objects []*resource.Info, counts release.Readiness) *steadiness {
	s := &steadiness{client: c, readyFor: counts.ReadyFor}
	if counts.ReadyFor <= 0 || counts.Changed == nil {
		return s
	}
	for i, object := range objects {
		if !counts.Changed(i) {
			continue
		}
		if w := unprobedWorkload(object); w != nil {
			s.workloads = append(s.workloads, w)
		}
	}
	return s
}

// unprobedWorkload returns nil for an object that makes no pods, or only pods whose containers all have a
// readiness probe.
func unprobedWorkload(object *resource.Info) *unprobed {
	live, ok := object.Object.(*unstructured.Unstructured)
	kind := object.Mapping.GroupVersionKind
	if !ok || kind.Group != appsv1.GroupName || !slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, kind.Kind) {
		return nil
	}
	content, _, err := unstructured.NestedMap(live.Object, "spec", "template")
	if err != nil {
		return nil
	}
	var template corev1.PodTemplateSpec
	if runtime.DefaultUnstructuredConverter.FromUnstructured(content, &template) != nil {
		return nil
	}
	var containers []string
	for _, container := range template.Spec.InitContainers {
		if container.ReadinessProbe == nil && container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, container.Name)
		}
	}
	for _, container := range template.Spec.Containers {
		if container.ReadinessProbe == nil {
			containers = append(containers, container.Name)
		}
	}
	// Pods of this strategy are replaced when somebody deletes them.
	strategy, _, _ := unstructured.NestedString(live.Object, "spec", "updateStrategy", "type")
	if len(containers) == 0 || strategy == string(appsv1.OnDeleteDaemonSetStrategyType) {
		return nil
	}
	return &unprobed{
		object: object, kind: kind.Kind, containers: containers, selector: selectorOf(live), runs: map[types.UID]map[string]containerRun{},
	}
}

// begin reads the restarts before the pods of the operation run. They do not count.
func (s *steadiness) begin(ctx context.Context) error {
	for _, w := range s.workloads {
		var (
			pods []corev1.Pod
			err  error
		)
		retry.Until(ctx, retry.Unwatched(), func() bool {
			pods, err = s.list(ctx, w)
			return err == nil || isRefused(err)
		})
		if err != nil {
			return err
		}
		for _, pod := range pods {
			w.runs[pod.UID] = map[string]containerRun{}
			for _, container := range statusesOf(&pod) {
				w.runs[pod.UID][container.Name] = containerRun{restarts: container.RestartCount, before: container.RestartCount}
			}
		}
	}
	return nil
}

// sleep returns after a pause, or when ctx ends.
func sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// wait returns when all containers have run long enough. If one has restarted too often, or when ctx
// ends, it returns the workloads that are not ready.
func (s *steadiness) wait(ctx context.Context, seen LiveObjects, report func([]Condition)) ([]Condition, error) {
	pauses := retry.Unwatched().Pauses()
	for {
		conditions, pause, err := s.evaluate(ctx, seen)
		switch {
		case err == nil && len(conditions) == 0:
			return nil, nil
		case err != nil && (isRefused(err) || isOver(ctx)):
			return nil, err
		case isOver(ctx) || slices.ContainsFunc(conditions, func(c Condition) bool { return c.ended }):
			return conditions, nil
		case err != nil:
			pause = pauses()
		}
		if report != nil {
			report(conditions)
		}
		sleep(ctx, pause)
	}
}

// evaluate reads the pods of the workloads that are left, and returns why they are not ready, and the
// time after which one of them can be.
func (s *steadiness) evaluate(ctx context.Context, seen LiveObjects) (conditions []Condition, pause time.Duration, err error) {
	pause = s.readyFor
	pending := s.workloads
	s.workloads = nil
	for _, w := range pending {
		pods, failure := s.current(ctx, w, seen[w.object])
		if failure != nil {
			err = failure
			s.workloads = append(s.workloads, w)
			continue
		}
		rest, condition := w.evaluate(pods, time.Now(), s.readyFor)
		if rest <= 0 {
			continue
		}
		pause = min(pause, rest)
		s.workloads, conditions = append(s.workloads, w), append(conditions, condition)
	}
	return conditions, pause, err
}

// isRefused reports whether an API server refuses a request, so that it need not be repeated.
func isRefused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) }

// evaluate returns how long containers of pods still have to run, with the reason.
func (u *unprobed) evaluate(pods []corev1.Pod, now time.Time, readyFor time.Duration) (time.Duration, Condition) {
	var (
		longest   time.Duration
		condition = Condition{Object: describe(u.object), Status: status.InProgressStatus.String()}
	)
	for _, pod := range pods {
		runs := u.runsOf(&pod, now)
		u.runs[pod.UID] = runs
		for _, name := range u.containers {
			run, started := runs[name]
			if restarts := run.restarts - run.before; restarts >= maxRestarts {
				condition.Status, condition.ended = status.FailedStatus.String(), true
				condition.Message = fmt.Sprintf("container %s has restarted %d times", name, restarts)
				return readyFor, condition
			}
			rest := readyFor
			if started && !run.since.IsZero() {
				rest -= now.Sub(run.since)
			}
			if rest > longest {
				longest, condition.Message = rest, fmt.Sprintf("container %s has no readiness probe and has not run for %s yet", name, readyFor)
			}
		}
	}
	return longest, condition
}

// runsOf returns the containers of a pod after what was seen of them before.
func (u *unprobed) runsOf(pod *corev1.Pod, now time.Time) map[string]containerRun {
	runs := map[string]containerRun{}
	for _, container := range statusesOf(pod) {
		run := u.runs[pod.UID][container.Name]
		if run.restarts != container.RestartCount || container.State.Running == nil {
			run.since = time.Time{}
		}
		run.restarts = container.RestartCount
		if container.State.Running != nil && run.since.IsZero() {
			run.since = now
		}
		runs[container.Name] = run
	}
	return runs
}

// list returns the pods that the selector of a workload selects.
func (s *steadiness) list(ctx context.Context, w *unprobed) ([]corev1.Pod, error) {
	list, err := s.client.typed.CoreV1().Pods(w.object.Namespace).List(ctx, metav1.ListOptions{LabelSelector: w.selector})
	if err != nil {
		return nil, podsError(w.object, err)
	}
	return list.Items, nil
}

// current returns the pods of the current revision of a workload.
func (s *steadiness) current(ctx context.Context, w *unprobed, live *unstructured.Unstructured) ([]corev1.Pod, error) {
	owners := []types.UID{live.GetUID()}
	if w.kind == "Deployment" {
		newest, err := s.client.newestReplicaSet(ctx, live)
		if err != nil {
			return nil, podsError(w.object, err)
		}
		owners = []types.UID{newest}
	}
	revision, _, _ := unstructured.NestedString(live.Object, "status", "updateRevision") // Of a StatefulSet.
	pods, err := s.list(ctx, w)
	return slices.DeleteFunc(pods, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || !isOwned(&pod, owners) ||
			revision != "" && pod.Labels[appsv1.ControllerRevisionHashLabelKey] != revision
	}), err
}

func statusesOf(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

// podsError reports that the pods of a workload could not be read, so that it is not known whether
// they stay up.
func podsError(object *resource.Info, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf(`reading the pods of %s: %w; permit to list pods and replicasets, or set ready_for = "0s"`, describe(object), err)
	}
	return fmt.Errorf("reading the pods of %s: %w", describe(object), err)
}
