package acceptance_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// served is a web server with two pods, which a Service reaches at a port of the node.
const served = `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 10
      containers:
      - name: web
        image: "%s"
        args: ["-name", "%s"]
        readinessProbe: {periodSeconds: 1, httpGet: {path: /ready, port: 8080}}
        lifecycle: {preStop: {sleep: {seconds: 3}}}
`

// No request fails while an upgrade replaces the pods of a web server.
func TestUpgradeFailsNoRequest(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.SharedNodes(t)), newWorkspace(t)
	configure := func(name string) {
		w.configure(t, s.provider("", on), s.bundleOf("web", fmt.Sprintf(served, testenv.TestImage, name)), target("", "fleet_bundle.web.bundles"))
	}
	configure("first")
	w.apply(t)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan map[string]int, 1)
	url := s.nodeURL(t, 0, "web")
	eventually(t, "the port of the node is open", func(ctx context.Context) (bool, error) { return ask(ctx, url) == "first", nil })
	go func() { ended <- askAgain(ctx, url) }()
	configure("second")
	w.apply(t)
	eventually(t, "the former pods are gone", func(ctx context.Context) (bool, error) {
		pods, err := s.client(t, 0).CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items) == 2, err
	})
	if got := ask(t.Context(), url); got != "second" {
		t.Errorf("after the upgrade: %s", got)
	}
	end()
	answers := <-ended
	t.Log(answers)
	if answers["first"] == 0 || answers["second"] == 0 || len(answers) != 2 {
		t.Errorf("answers: %v, want those of both versions alone", answers)
	}
	w.run(t, "destroy", "-auto-approve")
}

// nodeURL returns the URL of a Service at the node of cluster i.
func (s *fixture) nodeURL(t *testing.T, i int, name string) string {
	t.Helper()
	service, err := s.client(t, i).CoreV1().Services(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := s.client(t, i).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range nodes.Items[0].Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return fmt.Sprintf("http://%s:%d/", address.Address, service.Spec.Ports[0].NodePort)
		}
	}
	t.Fatal("the node has no address")
	return ""
}

// askAgain counts the answers of a server until ctx ends.
func askAgain(ctx context.Context, url string) map[string]int {
	answers := map[string]int{}
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for ctx.Err() == nil {
		answers[ask(context.WithoutCancel(ctx), url)]++
		<-pace.C
	}
	return answers
}

// ask returns the answer of a server, or the error, over a connection of its own.
func ask(ctx context.Context, url string) string {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	response, err := client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Sprint(response.Status, err)
	}
	return strings.TrimSpace(string(text))
}
