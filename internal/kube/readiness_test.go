package kube

import (
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"
)

func TestReadiness(t *testing.T) {
	t.Parallel()
	const ready = "" // else a status of kstatus
	var (
		inProgress  = status.InProgressStatus.String()
		failed      = status.FailedStatus.String()
		terminating = status.TerminatingStatus.String()
	)
	tests := map[string]struct {
		object  string
		want    string
		message string // in the message
	}{
		"config map":                   {object: "{apiVersion: v1, kind: ConfigMap}"},
		"being deleted":                {object: "{apiVersion: v1, kind: ConfigMap, metadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}}", want: terminating},
		"namespace":                    {object: "{apiVersion: v1, kind: Namespace, status: {phase: Active}}"},
		"deployment not seen yet":      {object: "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'True', reason: NewReplicaSetAvailable}]}}", want: inProgress, message: "generation"},
		"deployment without status":    {object: "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 1}}", want: inProgress},
		"deployment rolling out":       {object: "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 3}, status: {observedGeneration: 1, replicas: 3, updatedReplicas: 3, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: 'False'}, {type: Progressing, status: 'True', reason: ReplicaSetUpdated}]}}", want: inProgress, message: "1/3"},
		"deployment with old pods":     {object: "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 2, updatedReplicas: 1, readyReplicas: 2, availableReplicas: 2, conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'True', reason: ReplicaSetUpdated}]}}", want: inProgress},
		"deployment ready":             {object: "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'True', reason: NewReplicaSetAvailable}]}}"},
		"deployment of no pods":        {object: "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 0}, status: {observedGeneration: 1, conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'True', reason: NewReplicaSetAvailable}]}}"},
		"deployment stuck":             {object: "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, conditions: [{type: Available, status: 'False'}, {type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]}}", want: failed, message: "rogress deadline exceeded"},
		"deployment without right":     {object: "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, conditions: [{type: Available, status: 'False'}, {type: Progressing, status: 'True', reason: NewReplicaSetCreated}, {type: ReplicaFailure, status: 'True', reason: FailedCreate, message: 'pods \"name-5d8c7-x2bfz\" is forbidden: no'}]}}", want: inProgress, message: `Replicas: 0/1 (FailedCreate: pods "name-*" is forbidden: no)`},
		"stateful set starting":        {object: "{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 2, readyReplicas: 1, currentReplicas: 2}}", want: inProgress, message: "1/2"},
		"stateful set ready":           {object: "{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, currentReplicas: 2, updatedReplicas: 2, currentRevision: a, updateRevision: a}}"},
		"daemon set starting":          {object: "{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 1, numberAvailable: 1}}", want: inProgress, message: "1/2"},
		"daemon set ready":             {object: "{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 2, numberAvailable: 2}}"},
		"pod pending":                  {object: "{apiVersion: v1, kind: Pod, status: {phase: Pending}}", want: inProgress},
		"pod running":                  {object: "{apiVersion: v1, kind: Pod, status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}}"},
		"pod running and not ready":    {object: "{apiVersion: v1, kind: Pod, status: {phase: Running, conditions: [{type: Ready, status: 'False'}]}}", want: inProgress},
		"pod failed":                   {object: "{apiVersion: v1, kind: Pod, status: {phase: Failed}}", want: failed},
		"job not begun":                {object: "{apiVersion: batch/v1, kind: Job, status: {}}", want: inProgress},
		"job begun":                    {object: "{apiVersion: batch/v1, kind: Job, status: {startTime: '2026-01-01T00:00:00Z', active: 1}}", want: inProgress, message: "not complete"},
		"job complete":                 {object: "{apiVersion: batch/v1, kind: Job, status: {startTime: '2026-01-01T00:00:00Z', succeeded: 1, conditions: [{type: Complete, status: 'True'}]}}"},
		"job failed":                   {object: "{apiVersion: batch/v1, kind: Job, status: {startTime: '2026-01-01T00:00:00Z', conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded}]}}", want: failed},
		"job with broken status":       {object: "{apiVersion: batch/v1, kind: Job, status: {startTime: '2026-01-01T00:00:00Z', active: 1, conditions: []}}", want: inProgress},
		"claim pending":                {object: "{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}", want: inProgress},
		"claim bound":                  {object: "{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Bound}}"},
		"service":                      {object: "{apiVersion: v1, kind: Service, spec: {type: ClusterIP, clusterIP: 10.0.0.1}}"},
		"load balancer to come":        {object: "{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}}", want: inProgress},
		"definition not established":   {object: "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: 'False', reason: Installing}]}}", want: inProgress},
		"definition established":       {object: "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: 'True'}]}}"},
		"definition with a taken name": {object: "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: 'False', reason: Conflict, message: taken}]}}", want: failed, message: "taken"},
		"custom without status":        {object: "{apiVersion: example.com/v1, kind: Widget}"},
		"custom not seen yet":          {object: "{apiVersion: example.com/v1, kind: Widget, metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Ready, status: 'True'}]}}", want: inProgress},
		"custom ready":                 {object: "{apiVersion: example.com/v1, kind: Widget, metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Ready, status: 'True'}]}}"},
		"custom not ready":             {object: "{apiVersion: example.com/v1, kind: Widget, status: {conditions: [{type: Ready, status: 'False', message: no disk}]}}", want: inProgress, message: "no disk"},
		"custom unknown":               {object: "{apiVersion: example.com/v1, kind: Widget, status: {conditions: [{type: Ready, status: Unknown, message: wait}]}}", want: inProgress, message: "wait"},
		"custom reconciling":           {object: "{apiVersion: example.com/v1, kind: Widget, status: {conditions: [{type: Ready, status: 'True'}, {type: Reconciling, status: 'True', message: on it}]}}", want: inProgress, message: "on it"},
		"custom stalled":               {object: "{apiVersion: example.com/v1, kind: Widget, status: {conditions: [{type: Stalled, status: 'True', message: no quota}]}}", want: failed, message: "no quota"},
		"autoscaler":                   {object: "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {conditions: [{type: ScalingActive, status: 'False'}]}}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := object(t, test.object)
			got, isReady, err := conditionOf(info(live), live)
			if err != nil {
				t.Fatal(err)
			}
			if isReady != (test.want == ready) {
				t.Fatalf("ready: %t, status %s (%s), want %q", isReady, got.Status, got.Message, test.want)
			}
			if !isReady && (got.Status != test.want || !strings.Contains(got.Message, test.message)) {
				t.Errorf("got %s: %q, want %s: %q", got.Status, got.Message, test.want, test.message)
			}
			if want := live.GetKind() + " ns/name"; got.Object != want {
				t.Errorf("the object is called %q, want %q", got.Object, want)
			}
		})
	}
}

func TestReadinessOfWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	got, isReady, err := conditionOf(info(object(t, "{apiVersion: v1, kind: ConfigMap}")), nil)
	if err != nil || isReady || got.Status != status.NotFoundStatus.String() {
		t.Errorf("got %+v, ready: %t, %v", got, isReady, err)
	}
}

// A status of an unexpected form is an error, not a panic.
func TestReadinessOfBrokenStatus(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"deployment": "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: many}, status: {observedGeneration: 1, conditions: none}}",
		"job":        "{apiVersion: batch/v1, kind: Job, status: {startTime: 1, conditions: [a, b]}}",
		"custom":     "{apiVersion: example.com/v1, kind: Widget, status: {conditions: {type: Ready}}}",
		"no map":     "{apiVersion: example.com/v1, kind: Widget, status: done}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := object(t, text)
			if _, isReady, err := conditionOf(info(live), live); err == nil && isReady {
				t.Error("it counts as ready")
			}
		})
	}
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	made := &unstructured.Unstructured{}
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	// As the dynamic client does, so that numbers are int64.
	if err := made.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	made.SetNamespace("ns")
	made.SetName("name")
	return made
}

func info(live *unstructured.Unstructured) *resource.Info {
	kind := live.GroupVersionKind()
	return &resource.Info{
		Namespace: live.GetNamespace(), Name: live.GetName(),
		Mapping: &meta.RESTMapping{
			GroupVersionKind: kind, Scope: meta.RESTScopeNamespace,
			Resource: schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: strings.ToLower(kind.Kind) + "s"},
		},
	}
}
