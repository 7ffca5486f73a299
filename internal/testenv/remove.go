package testenv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
)

// RemoveAfter removes a namespace from existing clusters after the test, and does not wait until it is
// empty. Local clusters keep it: they end with the run, and a namespace there takes as long to remove
// as a plan, because all kinds of objects are listed.
func (e *Env) RemoveAfter(tb testing.TB, namespace string) {
	tb.Helper()
	if !e.external {
		return
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), attemptTimeout)
		defer cancel()
		for _, cluster := range e.clusters {
			if err := removeNamespace(ctx, cluster, namespace); err != nil {
				tb.Errorf("removing namespace %s from cluster %s: %v", namespace, cluster.context, err)
			}
		}
	})
}

// RemoveAtEnd removes a namespace that several tests share, when all tests of the process have ended.
// Local clusters keep it.
func (c *Cluster) RemoveAtEnd(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = append(c.ending, namespace)
}

// removeShared removes the namespaces of RemoveAtEnd.
func (e *Env) removeShared(ctx context.Context) error {
	if !e.external {
		return nil
	}
	var errs []error
	for _, cluster := range e.clusters {
		for _, namespace := range cluster.ending {
			if err := removeNamespace(ctx, cluster, namespace); err != nil {
				errs = append(errs, fmt.Errorf("removing namespace %s from cluster %s: %w", namespace, cluster.context, err))
			}
		}
	}
	return errors.Join(errs...)
}

func removeNamespace(ctx context.Context, cluster *Cluster, name string) error {
	client, err := kubernetes.NewForConfig(cluster.RESTConfig())
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if err := client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// RemoveNamed removes the objects without a namespace whose names contain a word, and the namespaces
// from existing clusters. It is for a word that only one test uses.
func (e *Env) RemoveNamed(ctx context.Context, word string) error {
	kinds := []schema.GroupVersionResource{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
		{Version: "v1", Resource: "persistentvolumes"},
	}
	if e.external {
		kinds = append(kinds, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	}
	var errs []error
	for _, cluster := range e.clusters {
		for _, kind := range kinds {
			if err := removeNamed(ctx, cluster, kind, word); err != nil {
				errs = append(errs, fmt.Errorf("removing %s with %s from cluster %s: %w", kind.Resource, word, cluster.context, err))
			}
		}
	}
	return errors.Join(errs...)
}

func removeNamed(ctx context.Context, cluster *Cluster, kind schema.GroupVersionResource, word string) error {
	client, err := metadata.NewForConfig(cluster.RESTConfig())
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	objects := client.Resource(kind)
	list, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, item := range list.Items {
		if !strings.Contains(item.Name, word) || item.DeletionTimestamp != nil {
			continue
		}
		if err := objects.Delete(ctx, item.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
