package kube

import (
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
)

func TestWaitingEndsOnFailures(t *testing.T) {
	t.Parallel()
	var (
		failed   = Condition{Status: status.FailedStatus.String()}
		ended    = Condition{Status: status.FailedStatus.String(), ended: true}
		progress = Condition{Status: status.InProgressStatus.String()}
	)
	tests := map[string]struct {
		seen  []Condition   // one for each check
		every time.Duration // the time between two checks
		want  []bool
	}{
		"going on":           {seen: []Condition{progress, progress}, every: time.Hour, want: []bool{false, false}},
		"a job failed":       {seen: []Condition{ended}, want: []bool{true}},
		"failed for a while": {seen: []Condition{failed, failed, failed}, every: 5 * time.Second, want: []bool{false, false, true}},
		"recovers":           {seen: []Condition{failed, progress, failed, failed, failed}, every: 5 * time.Second, want: []bool{false, false, false, false, true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failing failure
			now := time.Now()
			for i, seen := range test.seen {
				if got, _ := failing.isFinal([]Condition{progress, seen}, now); got != test.want[i] {
					t.Errorf("look %d: final: %t, want %t", i, got, test.want[i])
				}
				now = now.Add(test.every)
			}
		})
	}
}

// Only a response of an API server counts, because a manifest can contain the same fields.
func TestResponses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		object  string
		version string // of the info
		want    bool
	}{
		"answered":                {object: "{apiVersion: v1, kind: ConfigMap, metadata: {uid: a, resourceVersion: '5'}}", version: "5", want: true},
		"built from a manifest":   {object: "{apiVersion: v1, kind: ConfigMap}"},
		"with a version, no more": {object: "{apiVersion: v1, kind: ConfigMap, metadata: {resourceVersion: '5'}}", version: "5"},
		"of another version":      {object: "{apiVersion: v1, kind: ConfigMap, metadata: {uid: a, resourceVersion: '5'}}", version: "6"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := object(t, test.object)
			made := info(live)
			made.Object, made.ResourceVersion = live, test.version
			if got := answerOf(made); (got != nil) != test.want {
				t.Errorf("got %v, want an answer: %t", got, test.want)
			}
		})
	}
}

func TestInformativeResponses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"{apiVersion: v1, kind: ConfigMap}":                                                                      true,
		"{apiVersion: v1, kind: Service, spec: {type: ClusterIP}}":                                               true,
		"{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Complete, status: 'True'}]}}":            true,
		"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, status: {observedGeneration: 1}}":    true,
		"{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 0}, status: {replicas: 0}}":                   false,
		"{apiVersion: policy/v1, kind: PodDisruptionBudget, status: {currentHealthy: 0}}":                        false,
		"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler}":                                            false,
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}":                                  false,
		"{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway}":                                              false,
		"{apiVersion: example.com/v1, kind: Widget, metadata: {generation: 1}, status: {observedGeneration: 1}}": false,
	} {
		if got := isConclusive(object(t, text)); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}

func TestMessagesNameObjects(t *testing.T) {
	t.Parallel()
	notReady := &NotReadyError{Objects: []Condition{
		{Object: "Deployment web/nginx", Status: "InProgress", Message: "1/2"}, {Object: "Namespace web", Status: "NotFound", Message: "it does not exist"},
	}}
	want := "not ready: Deployment web/nginx is InProgress: 1/2; Namespace web is NotFound: it does not exist"
	if got := notReady.Error(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestLeftovers(t *testing.T) {
	t.Parallel()
	const deleting = "deletionTimestamp: '2024-01-01T00:00:00Z'"
	for metadata, want := range map[string]string{
		deleting + ", finalizers: [x/y, z]": "A ns/name (waiting for the finalizers x/y, z)",
		deleting:                            "A ns/name",
		"finalizers: [x/y]":                 "A ns/name (not being deleted: it was created again)",
	} {
		live := object(t, "{apiVersion: v1, kind: A, metadata: {"+metadata+"}}")
		if got := leftover(info(live), live); got != want {
			t.Errorf("%s: got %q, want %q", metadata, got, want)
		}
	}
}
