package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// awaitDeployments watches until exactly count Deployments exist, and all of them are rolled out.
func awaitDeployments(ctx context.Context, client kubernetes.Interface, namespace string, count int) error {
	resource := client.AppsV1().Deployments(namespace)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, options)
		},
	}
	rolled := map[string]bool{}
	there := func(store cache.Store) (bool, error) {
		for _, item := range store.List() {
			if deployment, ok := item.(*appsv1.Deployment); ok {
				rolled[deployment.Name] = rolledOut(deployment)
			}
		}
		return enough(rolled, count), nil
	}
	_, err := watchtools.UntilWithSync(ctx, source, &appsv1.Deployment{}, there, func(event watch.Event) (bool, error) {
		deployment, ok := event.Object.(*appsv1.Deployment)
		switch {
		case !ok:
			return false, errors.New("the watch answered something else")
		case event.Type == watch.Deleted:
			delete(rolled, deployment.Name)
		default:
			rolled[deployment.Name] = rolledOut(deployment)
		}
		return enough(rolled, count), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %d Deployments: %w", count, err)
	}
	return nil
}

func enough(rolled map[string]bool, count int) bool {
	if len(rolled) != count {
		return false
	}
	for _, done := range rolled {
		if !done {
			return false
		}
	}
	return true
}

// rolledOut reports whether all replicas are of the newest template, and available.
func rolledOut(deployment *appsv1.Deployment) bool {
	status, want := deployment.Status, int32(1)
	if deployment.Spec.Replicas != nil {
		want = *deployment.Spec.Replicas
	}
	return status.ObservedGeneration >= deployment.Generation && status.UpdatedReplicas == want &&
		status.AvailableReplicas == want && status.Replicas == want
}
