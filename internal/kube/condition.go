package kube

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"
)

func isJob(object *resource.Info) bool {
	return isA(object, batchv1.SchemeGroupVersion.WithKind("Job"))
}

func isPod(object *resource.Info) bool { return isA(object, corev1.SchemeGroupVersion.WithKind("Pod")) }

func isA(object *resource.Info, kind schema.GroupVersionKind) bool {
	return object.Mapping.GroupVersionKind.GroupKind() == kind.GroupKind()
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
	phase, _, _ := unstructured.NestedString(live.Object, "status", "phase")
	condition.Status, condition.Message = computed.Status.String(), withCauses(computed.Message, replicaFailure(live))
	switch {
	case isPod(object) && phase == string(corev1.PodFailed):
		// kstatus treats every pod that has ended as current, even one that has failed.
		condition.Status, condition.ended = status.FailedStatus.String(), true
	case computed.Status == status.FailedStatus:
		condition.ended = isJob(object)
	case computed.Status != status.CurrentStatus:
	case isJob(object) && trueCondition(live, string(batchv1.JobComplete)) == nil:
		// kstatus treats a job that has only started as current, too.
		condition.Status, condition.Message = status.InProgressStatus.String(), "the job is not complete"
	default:
		return condition, true, nil
	}
	return condition, false, nil
}

// replicaFailure returns why a workload cannot create pods, from its conditions. kstatus reads only
// the number of pods.
func replicaFailure(live *unstructured.Unstructured) []string {
	condition := trueCondition(live, "ReplicaFailure")
	if condition == nil || live.GroupVersionKind().Group != "apps" {
		return nil
	}
	reason, _ := condition["reason"].(string)
	message, _ := condition["message"].(string)
	return []string{withoutGeneratedNames(live, reasonText(reason, message))}
}

// trueCondition returns the condition of a type if it is true, nil otherwise.
func trueCondition(live *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, err := unstructured.NestedSlice(live.Object, "status", "conditions")
	if err != nil {
		return nil
	}
	for _, item := range conditions {
		condition, ok := item.(map[string]any)
		if ok && condition["type"] == kind && condition["status"] == string(corev1.ConditionTrue) {
			return condition
		}
	}
	return nil
}

// answerOf returns the object from the response to an earlier write or read with info, nil if there
// was none.
func answerOf(info *resource.Info) *unstructured.Unstructured {
	object, ok := info.Object.(*unstructured.Unstructured)
	if !ok || info.ResourceVersion == "" || object.GetUID() == "" || object.GetResourceVersion() != info.ResourceVersion {
		return nil
	}
	return object
}

// isConclusive reports whether the response to a write proves that an object is ready. kstatus
// treats an object without a status as ready, and no controller has written a status when the
// server responds. So an object of a custom kind is always read again. A built-in kind with a
// controller must have an observed generation. kstatus has compared the observed generation, so the
// status belongs to what was written.
func isConclusive(answer *unstructured.Unstructured) bool {
	kind := answer.GroupVersionKind()
	if !scheme.Scheme.Recognizes(kind) {
		return false
	}
	switch kind.Group {
	case "apps", "autoscaling", "policy":
		_, observed, err := unstructured.NestedInt64(answer.Object, "status", "observedGeneration")
		return observed && err == nil
	}
	return true
}
