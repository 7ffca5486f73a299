package testenv

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
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
			client, err := kubernetes.NewForConfig(cluster.RESTConfig())
			if err == nil {
				err = client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
			}
			if err != nil && !apierrors.IsNotFound(err) {
				tb.Errorf("removing namespace %s from cluster %s: %v", namespace, cluster.context, err)
			}
		}
	})
}
