package testenv

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	nodeName = "node-1"
	// startTimeout is far more than a start takes, even on a machine that is busy building.
	startTimeout = 3 * time.Minute
	pollInterval = 50 * time.Millisecond
	// attemptTimeout limits one check of a condition.
	attemptTimeout = 5 * time.Second
)

// readiness waits for the conditions of one cluster.
type readiness struct {
	client *kubernetes.Clientset
	// failure ends the wait when it is not nil.
	failure func() error
}

func newReadiness(config *rest.Config, failure func() error) (readiness, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // There is only this client, and it polls. Its rate limit would only slow down the start.
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return readiness{}, fmt.Errorf("making a client: %w", err)
	}
	return readiness{client: client, failure: failure}, nil
}

// apiServer waits until the API server responds to requests.
func (r readiness) apiServer(ctx context.Context) error {
	return r.wait(ctx, "the API server to be ready", r.answers)
}

func (r readiness) answers(ctx context.Context) error {
	return r.client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// workloads waits until Pods can be created, scheduled and run. The node's lease must have been
// deleted before kwok was started.
func (r readiness) workloads(ctx context.Context) error {
	err := r.wait(ctx, "the kubelet, or kwok, to take the node", func(ctx context.Context) error {
		_, err := r.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, nodeName, metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	err = r.wait(ctx, "the node to be ready", func(ctx context.Context) error {
		node, err := r.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return nodeIsReady(node)
	})
	if err != nil {
		return err
	}
	return r.wait(ctx, "the default service account", func(ctx context.Context) error {
		_, err := r.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// wait checks until the condition is met. If ctx ends first, the error contains what was still
// missing.
func (r readiness) wait(ctx context.Context, what string, condition func(context.Context) error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		missing := attempt(ctx, condition)
		if missing == nil {
			return nil
		}
		if err := r.failure(); err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return fmt.Errorf("waiting for %s: %w", what, ctx.Err()) // The caller cancelled and has the reason.
			}
			return fmt.Errorf("waiting for %s: %w; last seen: %w", what, ctx.Err(), missing)
		case <-ticker.C:
		}
	}
}

func attempt(ctx context.Context, condition func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return condition(ctx)
}

func nodeIsReady(node *corev1.Node) error {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			if len(node.Spec.Taints) > 0 {
				return fmt.Errorf("node %s still has taint %s", node.Name, node.Spec.Taints[0].Key)
			}
			return nil
		}
	}
	return fmt.Errorf("node %s is not ready", node.Name)
}

// freeNode deletes the lease of the node. The kwok from before a stop was killed, and its lease
// still exists. Until that lease ends after 40 s, the new kwok would ignore the node's Pods.
func freeNode(ctx context.Context, client *kubernetes.Clientset) error {
	err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(ctx, nodeName, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the lease of node %s: %w", nodeName, err)
	}
	return nil
}

// createNode creates the one node unless it exists.
func createNode(ctx context.Context, client *kubernetes.Clientset) error {
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("1000"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   nodeName,
			Labels: map[string]string{corev1.LabelHostname: nodeName, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"},
		},
		Status: corev1.NodeStatus{Allocatable: resources, Capacity: resources},
	}
	_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating node %s: %w", nodeName, err)
	}
	return nil
}

// waitForEtcd waits until etcd reports at its URL that it is healthy.
func waitForEtcd(ctx context.Context, etcd *process, url string) error {
	ready := readiness{failure: etcd.failure}
	return ready.wait(ctx, "etcd to be healthy", func(ctx context.Context) (err error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, response.Body.Close()) }()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("its health check returned %s", response.Status)
		}
		return nil
	})
}
