package kube

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"
)

// look is what was seen of the container app of one pod, some seconds after the first look.
type look struct {
	after    int
	pod      string
	restarts int32
	waits    bool
}

func (l look) pods() []corev1.Pod {
	if l.pod == "" {
		return nil
	}
	app := corev1.ContainerStatus{Name: "app", RestartCount: l.restarts}
	if !l.waits {
		app.State.Running = &corev1.ContainerStateRunning{}
	}
	return []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{UID: "uid-of-a", Name: l.pod}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		app, {Name: "probed", RestartCount: 99},
	}}}}
}

func TestSteadiness(t *testing.T) {
	t.Parallel()
	const readyFor = 5 * time.Second
	none := "container app has no readiness probe and has not run for 5s yet"
	tests := map[string]struct {
		before int32
		looks  []look
		rest   time.Duration
		reason string
		failed bool
	}{
		"first seen":               {looks: []look{{pod: "a"}}, rest: readyFor, reason: none},
		"a while":                  {looks: []look{{pod: "a"}, {after: 3, pod: "a"}}, rest: 2 * time.Second, reason: none},
		"long enough":              {looks: []look{{pod: "a"}, {after: 5, pod: "a"}}},
		"restarted":                {looks: []look{{pod: "a"}, {after: 4, pod: "a", restarts: 1}}, rest: readyFor, reason: none},
		"restarted, long enough":   {looks: []look{{pod: "a"}, {after: 4, pod: "a", restarts: 2}, {after: 9, pod: "a", restarts: 2}}},
		"waits to be restarted":    {looks: []look{{pod: "a"}, {after: 9, pod: "a", waits: true}}, rest: readyFor, reason: none},
		"runs after it has waited": {looks: []look{{pod: "a"}, {after: 9, pod: "a", waits: true}, {after: 10, pod: "a"}}, rest: readyFor, reason: none},
		"the third restart":        {looks: []look{{pod: "a", restarts: 3}}, rest: readyFor, reason: "container app has restarted 3 times", failed: true},
		"restarts from before":     {before: 40, looks: []look{{pod: "a", restarts: 42}, {after: 5, pod: "a", restarts: 42}}},
		"a third after those":      {before: 40, looks: []look{{pod: "a", restarts: 43}}, rest: readyFor, reason: "container app has restarted 3 times", failed: true},
		"no pod":                   {looks: []look{{}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := unprobedWorkload(podsOf(t, "Deployment", "{containers: [{name: app}, {name: probed, readinessProbe: {tcpSocket: {port: 80}}}]}", ""))
			if test.before > 0 {
				w.runs["uid-of-a"] = map[string]containerRun{"app": {restarts: test.before, before: test.before}}
			}
			var (
				start = time.Now()
				rest  time.Duration
				got   Condition
			)
			for _, look := range test.looks {
				rest, got = w.evaluate(look.pods(), start.Add(time.Duration(look.after)*time.Second), readyFor)
			}
			want := Condition{Object: "Deployment web/app", Status: "InProgress", Message: test.reason, ended: test.failed}
			if test.failed {
				want.Status = "Failed"
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(Condition{})); diff != "" || rest != test.rest {
				t.Errorf("rest %s, want %s; condition (-want +got):\n%s", rest, test.rest, diff)
			}
		})
	}
}

// Only containers that nothing probes are asked for, in workloads whose pods an apply replaces.
func TestUnprobed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind, pod, spec string
		want            []string
	}{
		"no probe":       {kind: "Deployment", pod: "{containers: [{name: a}, {name: b}]}", want: []string{"a", "b"}},
		"one has none":   {kind: "StatefulSet", pod: "{containers: [{name: a, readinessProbe: {}}, {name: b, livenessProbe: {}}]}", want: []string{"b"}},
		"all have one":   {kind: "DaemonSet", pod: "{containers: [{name: a, readinessProbe: {exec: {command: [a]}}}]}"},
		"init container": {kind: "DaemonSet", pod: "{initContainers: [{name: i}, {name: s, restartPolicy: Always}], containers: [{name: a, readinessProbe: {}}]}", want: []string{"s"}},
		"on delete":      {kind: "StatefulSet", pod: "{containers: [{name: a}]}", spec: "updateStrategy: {type: OnDelete}, "},
		"other kind":     {kind: "ReplicaSet", pod: "{containers: [{name: a}]}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			if w := unprobedWorkload(podsOf(t, test.kind, test.pod, test.spec)); w != nil {
				got = w.containers
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
		})
	}
}

func podsOf(t *testing.T, kind, pod, spec string) *resource.Info {
	t.Helper()
	live := &unstructured.Unstructured{}
	text := "{apiVersion: apps/v1, kind: " + kind + ", metadata: {name: app, namespace: web}, spec: {" + spec + "selector: {matchLabels: {a: b}}, template: {spec: " + pod + "}}}"
	if err := yaml.Unmarshal([]byte(text), &live.Object); err != nil {
		t.Fatal(err)
	}
	return &resource.Info{
		Namespace: "web", Name: "app", Object: live,
		Mapping: &meta.RESTMapping{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}},
	}
}
