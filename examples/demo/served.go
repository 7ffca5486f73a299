package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// serve makes the pods of the bundle web real web servers, which the story then asks.
func (s *story) serve() error {
	s.serves = true
	return s.readContent(filepath.Join(demoDir, "served"))
}

// askServers asks the web server of each cluster from inside the cluster.
func (s *story) askServers(ctx context.Context) error {
	say("Asking the web server of each cluster by the name of its Service, from a pod of a Job:")
	for _, name := range clusterNames() {
		response, err := ask(ctx, s.clients[name])
		if err != nil {
			return fmt.Errorf("asking the web server of cluster %s: %w", name, err)
		}
		if want := "Hello from " + name; response != want {
			return fmt.Errorf("the web server of cluster %s responded with %q, expected was %q", name, response, want)
		}
		fmt.Printf("    %-5s %s\n", name, response)
	}
	return nil
}

// ask returns the response of the web server to a Job. The Job fails if there is none.
func ask(ctx context.Context, client kubernetes.Interface) (string, error) {
	asked, err := client.BatchV1().Jobs(namespace).Create(ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "ask-"},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(1)),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers: []corev1.Container{{
					Name: "ask", Image: testenv.TestImage, Args: []string{"-get", "http://web." + namespace + ".svc.cluster.local/"},
				}},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("creating a Job: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		if asked, err = client.BatchV1().Jobs(namespace).Get(ctx, asked.Name, metav1.GetOptions{}); err != nil {
			return false, err
		}
		return asked.Status.CompletionTime != nil || asked.Status.Failed > *asked.Spec.BackoffLimit, nil
	})
	if err != nil {
		return "", fmt.Errorf("waiting for the Job: %w", err)
	}
	said, err := logOf(ctx, client, asked.Name)
	if err == nil && asked.Status.Succeeded == 0 {
		err = fmt.Errorf("the Job %s has failed: %s", asked.Name, said)
	}
	return said, err
}

// logOf returns what the last pod of a Job has printed.
func logOf(ctx context.Context, client kubernetes.Interface, job string) (string, error) {
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
	if err != nil {
		return "", fmt.Errorf("listing the pods of the Job %s: %w", job, err)
	}
	if len(pods.Items) == 0 {
		return "", errors.New("the Job " + job + " has no pod")
	}
	said, err := client.CoreV1().Pods(namespace).GetLogs(pods.Items[len(pods.Items)-1].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of the Job %s: %w", job, err)
	}
	return strings.TrimSpace(string(said)), nil
}
