package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Limits for what is read to explain a wait that failed.
const (
	explanationTime  = 3 * time.Second
	explainedObjects = 5
	// causesOfObject is how many causes are reported for one object.
	causesOfObject = 3
	explainedPods  = 100
	readEvents     = 500
	// longestCause is the length of the longest message that Kubernetes itself writes into an
	// event. A longer message is left out, not cut, because a masker does not recognize half a
	// secret.
	longestCause = 1024
)

// explainer finds out why objects are not ready. It reads the events of each namespace once.
type explainer struct {
	client *Client
	events map[eventQuery][]corev1.Event
	// logs is how many logs of failed containers may still be read.
	logs int
	// restarted is true if containers that run are causes, too, because they have ended before.
	restarted bool
}

func newExplainer(c *Client, counts release.Readiness) *explainer {
	made := &explainer{client: c, events: map[eventQuery][]corev1.Event{}}
	if counts.Logs {
		made.logs = logsOfWait
	}
	return made
}

// explain adds the causes that pods and events report to the objects that are not ready. seen contains
// all pending objects as they were last read. explain sends at most two list requests for the events of
// each namespace, and two list requests for each object. What the identity may not read is left out.
// After an interruption nothing is read.
func (e *explainer) explain(ctx context.Context, unmet []Condition, pending []*resource.Info, seen LiveObjects) {
	if len(unmet) == 0 || errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explanationTime)
	defer cancel()
	explained := 0
	for _, object := range pending {
		at := slices.IndexFunc(unmet, func(condition Condition) bool { return condition.Object == describe(object) })
		live := seen[object]
		if at < 0 || live == nil || object.Namespace == "" || explained == explainedObjects || ctx.Err() != nil {
			continue
		}
		explained++
		unmet[at].Message = withCauses(unmet[at].Message, e.causes(ctx, live))
	}
}

// withCauses adds causes to a message, each once.
func withCauses(message string, causes []string) string {
	var added []string
	for _, cause := range causes {
		known := repeats(cause, message) || slices.ContainsFunc(added, func(text string) bool { return repeats(cause, text) })
		if len(added) < causesOfObject && !known {
			added = append(added, cause)
		}
	}
	if len(added) == 0 {
		return message
	}
	return message + " (" + strings.Join(added, "; ") + ")"
}

// repeats reports whether a text contains a cause, or the part of it after a second colon. The name of
// a container does not count. For
// example, the event "FailedCreate: Error creating: <message>" repeats the condition "<message>".
func repeats(cause, text string) bool {
	if strings.Contains(text, cause) {
		return true
	}
	if strings.HasPrefix(cause, "container ") || strings.HasPrefix(cause, "init container ") {
		_, cause, _ = strings.Cut(cause, ": ")
	}
	_, message, _ := strings.Cut(cause, ": ")
	_, message, found := strings.Cut(message, ": ")
	return found && strings.Contains(text, message)
}

// causes returns why an object is not ready. The causes in its pods are listed before its events.
func (e *explainer) causes(ctx context.Context, live *unstructured.Unstructured) []string {
	about := []types.UID{live.GetUID()}
	var causes []string
	replicaSet, err := e.client.newestReplicaSet(ctx, live)
	if replicaSet != "" {
		about = append(about, replicaSet)
	}
	if err == nil {
		for _, pod := range e.pods(ctx, live, about) {
			about = append(about, pod.UID)
			causes = append(causes, e.causesInPod(ctx, &pod)...)
		}
	}
	if live.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim") {
		// The event that says why no volume is bound is not a warning.
		causes = append(causes, e.reported(ctx, eventQuery{live.GetNamespace(), "reason=FailedBinding"}, about)...)
	}
	causes = append(causes, e.reported(ctx, eventQuery{live.GetNamespace(), "type=" + corev1.EventTypeWarning}, about)...)
	for i, cause := range causes {
		causes[i] = withoutGeneratedNames(live, cause)
	}
	return causes
}

// newestReplicaSet returns the newest ReplicaSet of a Deployment, because failures of an earlier
// rollout explain nothing.
func (c *Client) newestReplicaSet(ctx context.Context, live *unstructured.Unstructured) (uid types.UID, err error) {
	if live.GroupVersionKind().GroupKind().String() != "Deployment.apps" {
		return "", nil
	}
	options := metav1.ListOptions{LabelSelector: selectorOf(live), Limit: explainedPods}
	sets, err := c.typed.AppsV1().ReplicaSets(live.GetNamespace()).List(ctx, options)
	if err != nil {
		return "", err
	}
	newest := 0
	for _, set := range sets.Items {
		revision, err := strconv.Atoi(set.Annotations["deployment.kubernetes.io/revision"])
		if err == nil && revision > newest && isOwned(&set, []types.UID{live.GetUID()}) {
			uid, newest = set.UID, revision
		}
	}
	return uid, nil
}

// pods returns the pods that owners have created for an object, or the object itself if it is a
// pod.
func (e *explainer) pods(ctx context.Context, live *unstructured.Unstructured, owners []types.UID) []corev1.Pod {
	var pod corev1.Pod
	if live.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Pod") {
		if runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &pod) != nil {
			return nil
		}
		return []corev1.Pod{pod}
	}
	selector := selectorOf(live)
	if selector == "" {
		return nil
	}
	list, err := e.client.typed.CoreV1().Pods(live.GetNamespace()).List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: explainedPods})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !isOwned(&pod, owners) })
}

// selectorOf returns the pod selector of a workload, "" for other objects.
func selectorOf(live *unstructured.Unstructured) string {
	switch live.GroupVersionKind().Group {
	case "apps", "batch":
	default:
		return ""
	}
	content, _, err := unstructured.NestedMap(live.Object, "spec", "selector")
	if err != nil {
		return ""
	}
	var selector metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructured(content, &selector) != nil {
		return ""
	}
	return metav1.FormatLabelSelector(&selector)
}

func isOwned(object metav1.Object, owners []types.UID) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	return owner != nil && slices.Contains(owners, owner.UID)
}

// eventQuery selects events of a namespace by a field.
type eventQuery struct{ namespace, field string }

// reported returns the newest events about objects, one for each reason.
func (e *explainer) reported(ctx context.Context, query eventQuery, about []types.UID) []string {
	all, isRead := e.events[query]
	if !isRead {
		list, err := e.client.typed.CoreV1().Events(query.namespace).List(ctx, metav1.ListOptions{FieldSelector: query.field, Limit: readEvents})
		if err == nil {
			all = list.Items
			slices.SortStableFunc(all, func(a, b corev1.Event) int {
				return cmp.Or(lastSeen(&b).Compare(lastSeen(&a)), cmp.Compare(a.Name, b.Name))
			})
		}
		e.events[query] = all
	}
	var texts []string
	reasons := map[string]bool{}
	for _, event := range all {
		// BackOff repeats the state of the container.
		if event.Reason == "BackOff" || reasons[event.Reason] || !slices.Contains(about, event.InvolvedObject.UID) {
			continue
		}
		reasons[event.Reason] = true
		text := reasonText(event.Reason, strings.TrimPrefix(event.Message, "(combined from similar events): "))
		texts = append(texts, containerOf(&event)+text)
	}
	return texts
}

// containerOf names the container that an event is about, if it is about one.
func containerOf(event *corev1.Event) string {
	path := event.InvolvedObject.FieldPath
	for field, kind := range map[string]string{"spec.containers{": "container ", "spec.initContainers{": "init container "} {
		if name, found := strings.CutPrefix(path, field); found {
			return kind + strings.TrimSuffix(name, "}") + ": "
		}
	}
	return ""
}

func lastSeen(event *corev1.Event) time.Time {
	times := []time.Time{event.CreationTimestamp.Time, event.LastTimestamp.Time, event.EventTime.Time}
	if event.Series != nil {
		times = append(times, event.Series.LastObservedTime.Time)
	}
	return slices.MaxFunc(times, time.Time.Compare)
}

// causesInPod returns why a pod is not ready, from its status. The message that a container wrote
// before it ended is left out, because it can contain anything.
func (e *explainer) causesInPod(ctx context.Context, pod *corev1.Pod) []string {
	var causes []string
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			causes = append(causes, reasonText(condition.Reason, condition.Message))
		}
	}
	if pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "" {
		causes = append(causes, reasonText(pod.Status.Reason, pod.Status.Message))
	}
	causes = append(causes, e.causesInContainers(ctx, pod, "init container", pod.Status.InitContainerStatuses)...)
	return append(causes, e.causesInContainers(ctx, pod, "container", pod.Status.ContainerStatuses)...)
}

func (e *explainer) causesInContainers(ctx context.Context, pod *corev1.Pod, kind string, containers []corev1.ContainerStatus) []string {
	var causes []string
	for _, container := range containers {
		cause, crashed := causeInContainer(&container, e.restarted)
		if cause == "" {
			continue
		}
		if crashed {
			cause += e.lastWords(ctx, pod, &container)
		}
		causes = append(causes, kind+" "+container.Name+": "+cause)
	}
	return causes
}

// causeInContainer returns why a container is not ready. crashed is true if it has ended with an error.
// restarted is that of explainer.
func causeInContainer(container *corev1.ContainerStatus, restarted bool) (cause string, crashed bool) {
	ended := container.State.Terminated
	if ended == nil {
		ended = container.LastTerminationState.Terminated
	}
	crash := ""
	if ended != nil && ended.ExitCode != 0 {
		crash = fmt.Sprintf("it ended with exit code %d (%s)", ended.ExitCode, ended.Reason)
	}
	waiting := container.State.Waiting
	switch {
	case waiting == nil && (!container.Ready || restarted):
		return crash, crash != ""
	case waiting == nil || slices.Contains([]string{"", "ContainerCreating", "PodInitializing"}, waiting.Reason):
		return "", false
	case crash != "":
		return waiting.Reason + ": " + crash, true
	}
	return reasonText(waiting.Reason, waiting.Message), false
}

// reasonText joins a reason and a message to one line.
func reasonText(reason, message string) string {
	message = strings.Join(strings.Fields(message), " ")
	switch {
	case message == "":
		return reason
	case len(message) > longestCause:
		message = fmt.Sprintf("(a message of %d bytes)", len(message))
	}
	return reason + ": " + message
}

// withoutGeneratedNames replaces generated names and UIDs, such as the suffix of the name of a pod.
// The text of a cause is then the same on all clusters.
func withoutGeneratedNames(live *unstructured.Unstructured, text string) string {
	const letters = "[bcdfghjklmnpqrstvwxz2456789]"
	name := regexp.QuoteMeta(live.GetName())
	between := ""
	switch live.GetKind() {
	case "Deployment":
		between = letters + `{1,10}-`
	case "Pod", "StatefulSet":
		return uids.ReplaceAllString(text, "*")
	}
	pods := regexp.MustCompile(`\b` + name + `-` + between + letters + `{5}(\b|_)`)
	return uids.ReplaceAllString(pods.ReplaceAllString(text, live.GetName()+"-*$1"), "*")
}

var uids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
