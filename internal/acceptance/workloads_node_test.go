package acceptance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A failed atomic upgrade brings back the pods that run.
func TestAtomicEndsACrashLoop(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.SharedNodes(t)), newWorkspace(t)
	configure := func(args string) {
		w.configure(t, s.provider("", on), s.runs(args, "helm = { atomic = true }"), target(`deployment_timeout = "60s"`, "fleet_bundle.web.bundles"))
	}
	configure(`"-name", good`)
	w.apply(t)
	configure(`"-exit", "3"`)
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "a/web failed", "rolled back", "exit code 3 (Error)")
	eventually(t, "only the former pod runs", func(ctx context.Context) (bool, error) {
		pods, err := s.client(t, 0).CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items) == 1 && strings.Join(pods.Items[0].Spec.Containers[0].Args, " ") == "-name good" &&
			pods.Items[0].Status.Phase == corev1.PodRunning, err
	})
	if got := s.releases(t, 0)["web"]; got.revision != "3" || got.status != "deployed" {
		t.Errorf("the release is %+v, want revision 3, deployed", got)
	}
	w.run(t, "destroy", "-auto-approve")
}

// stateful contains a StatefulSet, a DaemonSet, and a Job that writes to a volume.
const stateful = `apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s}
spec:
  storageClassName: %[1]s
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /run/%[1]s, type: DirectoryOrCreate}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: %[1]s, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: fill}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: fill, image: "%[2]s", args: ["-write", "1", "-into", /data/file, "-exit", "0", "-after", 2s], volumeMounts: [{name: data, mountPath: /data}]}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: db, image: "%[2]s", args: ["-ready-after", 2s], readinessProbe: {periodSeconds: 1, httpGet: {path: /ready, port: 8080}}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: agent, image: "%[2]s", args: ["-name", "%[3]s", "-ready-after", 4s], readinessProbe: {periodSeconds: 1, httpGet: {path: /ready, port: 8080}}}]
`

// An apply waits for Jobs, volumes, sets and agents, and goes on after the kubelet has ended.
func TestAppliesRealWorkloads(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.SharedNodes(t)), newWorkspace(t)
	configure := func(name string) {
		bundle := with(s.bundleOf("all", fmt.Sprintf(stateful, s.namespace, testenv.TestImage, name)), "helm = { wait_for_jobs = true }")
		w.configure(t, s.provider("", "", "", on), bundle, target("", "fleet_bundle.all.bundles"))
	}
	configure("first")
	w.apply(t)
	client := s.client(t, 2)
	job, err := client.BatchV1().Jobs(s.namespace).Get(t.Context(), "fill", metav1.GetOptions{})
	if err != nil || job.Status.Succeeded != 1 {
		t.Errorf("after the apply, the Job has the status %+v (%v)", job.Status, err)
	}
	first, err := client.CoreV1().Pods(s.namespace).Get(t.Context(), "db-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := client.CoreV1().Pods(s.namespace).Get(t.Context(), "db-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, condition := range first.Status.Conditions {
		if condition.Type == corev1.PodReady && second.CreationTimestamp.Before(&condition.LastTransitionTime) {
			t.Errorf("db-1 was created at %s, before db-0 was ready at %s", second.CreationTimestamp, condition.LastTransitionTime)
		}
	}

	configure("second")
	applied := make(chan error, 1)
	go func() {
		_, err := w.try(t, "apply", "-auto-approve", "-input=false")
		applied <- err
	}()
	eventually(t, "the agent is replaced", func(ctx context.Context) (bool, error) {
		set, err := client.AppsV1().DaemonSets(s.namespace).Get(ctx, "agent", metav1.GetOptions{})
		return err == nil && set.Status.ObservedGeneration == 2 && set.Status.NumberReady == 0, err
	})
	if err := s.env.Cluster(2).RestartKubelet(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-applied; err != nil {
		t.Error(err)
	}
	set, err := client.AppsV1().DaemonSets(s.namespace).Get(t.Context(), "agent", metav1.GetOptions{})
	if err != nil || set.Status.NumberReady != 1 || set.Status.UpdatedNumberScheduled != 1 {
		t.Errorf("after the apply, the DaemonSet has the status %+v (%v)", set.Status, err)
	}
	w.run(t, "destroy", "-auto-approve")
}
