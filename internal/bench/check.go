package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const (
	settleTimeout  = 5 * time.Minute
	settleInterval = 100 * time.Millisecond
)

// A clusterClient reads clusters directly, without a contender or a proxy.
type clusterClient struct {
	contexts []string
	clients  map[string]kubernetes.Interface
}

func newClusterClient(kubeconfig string, contexts []string) (clusterClient, error) {
	o := clusterClient{contexts: contexts, clients: map[string]kubernetes.Interface{}}
	for _, name := range contexts {
		config, err := clientConfig(kubeconfig, name)
		if err != nil {
			return clusterClient{}, err
		}
		if o.clients[name], err = kubernetes.NewForConfig(config); err != nil {
			return clusterClient{}, fmt.Errorf("making a client of cluster %s: %w", name, err)
		}
	}
	return o, nil
}

// check returns an error if the clusters do not have the right content after a step. What the step
// waited for must exist at once. The rest must exist within settleTimeout, so that no step begins
// during the work of the step before.
func (o clusterClient) check(ctx context.Context, t task, s step, waited bool) error {
	if waited {
		if err := o.compare(ctx, t, s, clusterContent.expectRunning, clusterContent.expectNothing); err != nil {
			return err
		}
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, settleInterval, settleTimeout, true, func(ctx context.Context) (bool, error) {
		last = o.compare(ctx, t, s, clusterContent.expectSettled, clusterContent.expectNoPods)
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// compare compares the content of every cluster with the expected content after a step: something
// or nothing.
func (o clusterClient) compare(ctx context.Context, t task, s step, something func(clusterContent, work, string) error, nothing func(clusterContent) error) error {
	targets := s.targets(o.contexts)
	var group errgroup.Group
	for _, name := range o.contexts {
		group.Go(func() error {
			found, err := read(ctx, o.clients[name], t.namespace)
			if err != nil {
				return fmt.Errorf("reading what cluster %s holds: %w", name, err)
			}
			if slices.Contains(targets, name) {
				err = something(found, t.work, s.value())
			} else {
				err = nothing(found)
			}
			if err != nil {
				return fmt.Errorf("after %s, cluster %s: %w", s, name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// clusterContent is the part of the work in a namespace.
type clusterContent struct {
	deployments []appsv1.Deployment
	configMaps  []corev1.ConfigMap
	others      int
	pods        []corev1.Pod
	// records are names of releases.
	records map[string]bool
}

func read(ctx context.Context, client kubernetes.Interface, namespace string) (clusterContent, error) {
	h := clusterContent{records: map[string]bool{}}
	deployments, err := client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return h, err
	}
	h.deployments = deployments.Items
	configMaps, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return h, err
	}
	for _, configMap := range configMaps.Items {
		if strings.HasPrefix(configMap.Name, namePrefix) {
			h.configMaps = append(h.configMaps, configMap)
		}
	}
	services, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return h, err
	}
	h.others = len(services.Items)
	accounts, err := client.CoreV1().ServiceAccounts(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return h, err
	}
	for _, account := range accounts.Items {
		if strings.HasPrefix(account.Name, namePrefix) {
			h.others++
		}
	}
	secrets, err := client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		return h, err
	}
	for _, secret := range secrets.Items {
		h.records[secret.Labels["name"]] = true
	}
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return h, err
	}
	h.pods = pods.Items
	return h, nil
}

func (h clusterContent) objects() int { return len(h.deployments) + len(h.configMaps) + h.others }

// expectWritten checks the objects and records that were written.
func (h clusterContent) expectWritten(w work, value string) error {
	if got, want := h.objects(), w.Releases*w.Objects; got != want {
		return fmt.Errorf("%d objects instead of %d", got, want)
	}
	if len(h.records) != w.Releases {
		return fmt.Errorf("records of %d releases instead of %d", len(h.records), w.Releases)
	}
	for _, configMap := range h.configMaps {
		if configMap.Data["value"] != value {
			return fmt.Errorf("the ConfigMap %s holds %q instead of %q", configMap.Name, configMap.Data["value"], value)
		}
	}
	for i := range h.deployments {
		if got := h.deployments[i].Spec.Template.Annotations["value"]; got != value {
			return fmt.Errorf("the Deployment %s holds %q instead of %q", h.deployments[i].Name, got, value)
		}
	}
	return nil
}

// expectRunning checks that each release has a ready pod of what was written. Not every contender
// that waits achieves more: Helm does not wait until the old pods are removed.
func (h clusterContent) expectRunning(w work, value string) error {
	if err := h.expectWritten(w, value); err != nil {
		return err
	}
	ready := map[string]bool{}
	for i := range h.pods {
		pod := &h.pods[i]
		if pod.Annotations["value"] == value && isReady(pod) {
			ready[pod.Labels["app"]] = true
		}
	}
	for _, name := range w.names() {
		if !ready[name] {
			return fmt.Errorf("%s has no ready pod with the value %q", name, value)
		}
	}
	return nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// expectSettled checks what was written, and that all Deployments are rolled out.
func (h clusterContent) expectSettled(w work, value string) error {
	if err := h.expectWritten(w, value); err != nil {
		return err
	}
	for i := range h.deployments {
		if !rolledOut(&h.deployments[i]) {
			return fmt.Errorf("the Deployment %s is not rolled out", h.deployments[i].Name)
		}
	}
	return nil
}

func (h clusterContent) expectNothing() error {
	if h.objects() > 0 || len(h.records) > 0 {
		return fmt.Errorf("%d objects and records of %d releases instead of none", h.objects(), len(h.records))
	}
	return nil
}

// expectNoPods checks that everything was removed, with all pods.
func (h clusterContent) expectNoPods() error {
	if err := h.expectNothing(); err != nil {
		return err
	}
	if len(h.pods) > 0 {
		return fmt.Errorf("%d pods instead of none", len(h.pods))
	}
	return nil
}

// clear deletes namespaces, by cluster, and waits until they no longer exist.
func (o clusterClient) clear(ctx context.Context, namespaces map[string][]string) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, name := range o.contexts {
		group.Go(func() error {
			if err := clearCluster(ctx, o.clients[name], namespaces[name]); err != nil {
				return fmt.Errorf("deleting namespaces of cluster %s: %w", name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func clearCluster(ctx context.Context, client kubernetes.Interface, namespaces []string) error {
	resource := client.CoreV1().Namespaces()
	for _, namespace := range namespaces {
		if err := resource.Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return wait.PollUntilContextTimeout(ctx, settleInterval, settleTimeout, true, func(ctx context.Context) (bool, error) {
		left, err := resource.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(left.Items, func(namespace corev1.Namespace) bool {
			return slices.Contains(namespaces, namespace.Name)
		}), nil
	})
}
