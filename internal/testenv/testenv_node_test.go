package testenv_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// Pods of a real node run, Services have names, logs can be read, and nothing is left of a node.
func TestRealNode(t *testing.T) {
	t.Parallel()
	env := testenv.NewNodes(t, 1)
	client, err := kubernetes.NewForConfig(env.Cluster(0).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	container := corev1.Container{
		Name: "app", Image: testenv.TestImage, Args: []string{"-name", "hello"},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)}}, PeriodSeconds: 1},
	}
	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}}},
		},
	}
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}}}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, func(ctx context.Context) (bool, error) {
		live, err := client.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
		return err == nil && live.Status.ReadyReplicas == 1, err
	})

	ask := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "ask"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "ask", Image: testenv.TestImage, Args: []string{"-get", "http://web.default.svc.cluster.local/"}}},
		}}},
	}
	if _, err := client.BatchV1().Jobs("default").Create(t.Context(), ask, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, func(ctx context.Context) (bool, error) {
		live, err := client.BatchV1().Jobs("default").Get(ctx, "ask", metav1.GetOptions{})
		return err == nil && live.Status.Succeeded == 1, err
	})
	// The first pod fails if it asks before the node routes the Service.
	pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=ask", FieldSelector: "status.phase=Succeeded"})
	if err != nil || len(pods.Items) == 0 {
		t.Fatal(err, pods)
	}
	log, err := client.CoreV1().Pods("default").GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil || strings.TrimSpace(string(log)) != "hello" {
		t.Errorf("the log is %q: %v", log, err)
	}

	groups, err := filepath.Glob(filepath.Join(filepath.Dir(env.Kubeconfig()), "*", "node", "groups"))
	if err != nil || len(groups) != 1 {
		t.Fatal(groups, err)
	}
	made, err := os.ReadFile(groups[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := env.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for group := range strings.Lines(string(made)) {
		if _, err := os.Stat(strings.TrimSpace(group)); err == nil {
			t.Errorf("the control group %s is left", group)
		}
	}
}

func await(t *testing.T, is func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 2*time.Minute, true, is); err != nil {
		t.Fatal(err)
	}
}
