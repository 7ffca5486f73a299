package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func TestWithCauses(t *testing.T) {
	t.Parallel()
	const message = "Replicas: 0/1"
	for name, test := range map[string]struct {
		message string
		causes  []string
		want    string
	}{
		"none":                 {message: message, want: message},
		"one":                  {message: message, causes: []string{"A: b"}, want: message + " (A: b)"},
		"twice":                {message: message, causes: []string{"A: b", "A: b"}, want: message + " (A: b)"},
		"in the message":       {message: "x (A: b)", causes: []string{"A: b"}, want: "x (A: b)"},
		"after a colon":        {message: "x (A: no room)", causes: []string{"A: Error creating: no room"}, want: "x (A: no room)"},
		"of a container":       {message: message, causes: []string{"container c: ErrImagePull: no such name", `container c: Failed: Failed to pull image "x": no such name`}, want: message + " (container c: ErrImagePull: no such name)"},
		"more than are wanted": {message: message, causes: []string{"A", "B", "C", "D"}, want: message + " (A; B; C)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := withCauses(test.message, test.causes); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestCauseInContainer(t *testing.T) {
	t.Parallel()
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	ended := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: "what it wrote"}}
	}
	for name, test := range map[string]struct {
		status    corev1.ContainerStatus
		restarted bool
		want      string
	}{
		"starting":           {status: corev1.ContainerStatus{State: waiting("ContainerCreating", "")}},
		"after others":       {status: corev1.ContainerStatus{State: waiting("PodInitializing", "")}},
		"ready":              {status: corev1.ContainerStatus{Ready: true, LastTerminationState: ended(1, "Error")}},
		"restarts":           {status: corev1.ContainerStatus{Ready: true, LastTerminationState: ended(1, "Error")}, restarted: true, want: "it ended with exit code 1 (Error)"},
		"done":               {status: corev1.ContainerStatus{State: ended(0, "Completed")}},
		"without a secret":   {status: corev1.ContainerStatus{State: waiting("CreateContainerConfigError", `secret "db" not found`)}, want: `CreateContainerConfigError: secret "db" not found`},
		"crashed":            {status: corev1.ContainerStatus{State: waiting("CrashLoopBackOff", "back-off 10s"), LastTerminationState: ended(137, "OOMKilled")}, want: "CrashLoopBackOff: it ended with exit code 137 (OOMKilled)"},
		"failed":             {status: corev1.ContainerStatus{State: ended(2, "Error")}, want: "it ended with exit code 2 (Error)"},
		"started again":      {status: corev1.ContainerStatus{LastTerminationState: ended(2, "Error")}, want: "it ended with exit code 2 (Error)"},
		"a message too long": {status: corev1.ContainerStatus{State: waiting("ErrImagePull", strings.Repeat("x", longestCause+1))}, want: "ErrImagePull: (a message of 1025 bytes)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, crashed := causeInContainer(&test.status, test.restarted)
			if got != test.want || crashed != strings.Contains(test.want, "exit code") {
				t.Errorf("got %q (crashed: %t), want %q", got, crashed, test.want)
			}
		})
	}
}

// An event about a container names it.
func TestReported(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"":                          "Unhealthy: HTTP 503",
		"spec":                      "Unhealthy: HTTP 503",
		"spec.containers{web}":      "container web: Unhealthy: HTTP 503",
		"spec.initContainers{load}": "init container load: Unhealthy: HTTP 503",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			warnings := eventQuery{"ns", "type=Warning"}
			x := explainer{events: map[eventQuery][]corev1.Event{warnings: {
				{InvolvedObject: corev1.ObjectReference{UID: "a", FieldPath: path}, Reason: "Unhealthy", Message: "HTTP 503"},
				{InvolvedObject: corev1.ObjectReference{UID: "b"}, Reason: "Failed", Message: "of another object"},
			}}}
			if diff := cmp.Diff([]string{want}, x.reported(t.Context(), warnings, []types.UID{"a"})); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}

// What an init container did is not what a container did.
func TestCausesInInitContainers(t *testing.T) {
	t.Parallel()
	failed := func(name string) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 4, Reason: "Error"}}}}
	}
	pod := &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: failed("load"), ContainerStatuses: failed("web")}}
	want := []string{"init container load: it ended with exit code 4 (Error)", "container web: it ended with exit code 4 (Error)"}
	if diff := cmp.Diff(want, (&explainer{}).causesInPod(t.Context(), pod)); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// The same cause on many clusters has the same text.
func TestWithoutGeneratedNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ kind, text, want string }{
		{"Deployment", `pods "web-6c8fd-x2bfz" is forbidden`, `pods "web-*" is forbidden`},
		{"Deployment", "pod=web-6c8fd-x2bfz_ns", "pod=web-*_ns"},
		{"Deployment", `pods "web-other" is forbidden`, `pods "web-other" is forbidden`},
		{"DaemonSet", `pods "web-x2bfz" is forbidden`, `pods "web-*" is forbidden`},
		{"StatefulSet", `pods "web-0" is forbidden`, `pods "web-0" is forbidden`},
		{"Pod", "web_ns(0d7c5a4e-1111-2222-3333-444455556666)", "web_ns(*)"},
	} {
		live := &unstructured.Unstructured{}
		live.SetKind(test.kind)
		live.SetName("web")
		if got := withoutGeneratedNames(live, test.text); got != test.want {
			t.Errorf("%s: got %q, want %q", test.kind, got, test.want)
		}
	}
}

func TestLastSeen(t *testing.T) {
	t.Parallel()
	created, last := metav1.Unix(1, 0), metav1.Unix(2, 0)
	event := corev1.Event{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: created}, Series: &corev1.EventSeries{LastObservedTime: metav1.MicroTime(last)}}
	if got := lastSeen(&event); !got.Equal(last.Time) {
		t.Errorf("got %s, want %s", got, last)
	}
}
