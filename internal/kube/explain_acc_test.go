package kube_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

const noNode = "nodeSelector: {none: here}, "

func workload(kind, podSpec string) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: %[3]s\nmetadata: {name: %[1]s}\nspec: {replicas: 1, serviceName: web, selector: {matchLabels: {app: %[1]s}}, "+pods+"}", "web", podSpec, kind)
}

// failedWait returns the error of a wait for objects that do not become ready.
func failedWait(t *testing.T, l lab, client *kube.Client, manifests ...string) string {
	t.Helper()
	err := client.WaitReady(soon(t, 4*short), l.infos(t, manifests...), withJobs)
	if !errors.As(err, new(*kube.NotReadyError)) {
		t.Fatalf("error = %v, want a NotReadyError", err)
	}
	return err.Error()
}

func TestAccWaitReadyExplainsQuotas(t *testing.T) {
	t.Parallel()
	l := newLab(t, "explain-quota")
	l.create(t, l.infos(t, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {pods: '0'}}"))
	eventually(t, "the quota is counted", func() bool {
		quota, err := l.typed.CoreV1().ResourceQuotas(l.namespace).Get(t.Context(), "none", metav1.GetOptions{})
		return err == nil && len(quota.Status.Hard) > 0
	})
	set := strings.Replace(workload("StatefulSet", ""), "{name: web}", "{name: db}", 1)
	deployment := strings.Replace(workload("Deployment", ""), "serviceName: web, ", "", 1)
	l.create(t, l.infos(t, deployment, set))
	text := failedWait(t, l, l.Client, deployment, set)
	for _, want := range []string{
		`Deployment explain-quota/web is InProgress: Replicas: 0/1 (FailedCreate: pods "web-*" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0); `,
		`StatefulSet explain-quota/db is InProgress: `,
		`Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: exceeded quota: none`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("error = %s\nwant it to contain %s", text, want)
		}
	}
}

func TestAccWaitReadyExplainsPodSecurity(t *testing.T) {
	t.Parallel()
	l := newLab(t, "explain-security")
	l.label(t, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	deployment := webDeployment()
	l.create(t, l.infos(t, deployment))
	text := failedWait(t, l, l.Client, deployment)
	if want := `(FailedCreate: pods "web-*" is forbidden: violates PodSecurity "restricted:latest"`; !strings.Contains(text, want) {
		t.Errorf("error = %s\nwant it to contain %s", text, want)
	}
}

func (l lab) label(t *testing.T, change string) {
	t.Helper()
	if _, err := l.typed.CoreV1().Namespaces().Patch(t.Context(), l.namespace, types.MergePatchType, []byte(change), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// The test writes what a kubelet would write, to a pod that no node gets.
func TestAccWaitReadyExplainsPods(t *testing.T) {
	t.Parallel()
	l := newLab(t, "explain-pods")
	deployment := strings.Replace(workload("Deployment", noNode), "serviceName: web, ", "", 1)
	l.create(t, l.infos(t, deployment))
	text := failedWait(t, l, l.Client, deployment)
	if want := "Deployment explain-pods/web is InProgress: Available: "; !strings.Contains(text, want) || !strings.Contains(text, "(Unschedulable: 0/1 nodes are available: ") {
		t.Errorf("error = %s\nwant it to contain %s, and that the pod fits no node", text, want)
	}

	image := corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image\n \"example.com/main\""}}}
	crash := corev1.ContainerStatus{Name: "main", RestartCount: 3, LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", Message: "password=hunter2"}}}
	crash.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s restarting failed container=main pod=web"}
	for want, status := range map[string]corev1.ContainerStatus{
		`(container main: ImagePullBackOff: Back-off pulling image "example.com/main"; `:         image,
		`(container main: CrashLoopBackOff: it ended with exit code 3 (Error); FailedScheduling`: crash,
	} {
		l.setStatus(t, corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{status}})
		if got := failedWait(t, l, l.Client, deployment); !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("error = %s\nwant it to contain %s, and not what the container wrote", got, want)
		}
	}

	// Rights to explain are optional.
	user := l.user(t, "explains-nothing", rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}})
	text = failedWait(t, l, clientOf(t, connect.Connection{Kubeconfig: secret.Hide(user.Kubeconfig)}), deployment)
	if want := "not ready: Deployment explain-pods/web is InProgress: Available: "; !strings.HasPrefix(text, want) || strings.Contains(text, "(") {
		t.Errorf("error = %s\nwant %s and no more", text, want)
	}
}

// setStatus writes the status of the only pod.
func (l lab) setStatus(t *testing.T, status corev1.PodStatus) {
	t.Helper()
	list, err := l.typed.CoreV1().Pods(l.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d pods (%v), want one", len(list.Items), err)
	}
	pod := &list.Items[0]
	pod.Status = status
	if _, err := l.typed.CoreV1().Pods(l.namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
