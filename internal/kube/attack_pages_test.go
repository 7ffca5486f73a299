package kube_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
)

// A list that always returns a next page ends, and each object is then read by its name.
func TestAttackEndlessPages(t *testing.T) {
	var pages, gets atomic.Int64
	connection := to(serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/secrets") {
			gets.Add(1)
			refuse(http.StatusNotFound, metav1.StatusReasonNotFound)(w, r)
			return
		}
		pages.Add(1)
		answer(w, http.StatusOK, metav1.PartialObjectMetadataList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, ListMeta: metav1.ListMeta{Continue: "more"},
		})
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	mapping := &meta.RESTMapping{
		Resource:         corev1.SchemeGroupVersion.WithResource("secrets"),
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Secret"), Scope: meta.RESTScopeNamespace,
	}
	wanted := []*resource.Info{{Mapping: mapping, Namespace: "web", Name: "a"}, {Mapping: mapping, Namespace: "web", Name: "b"}}
	_, absent := clientOf(t, connection).Live(ctx, wanted)
	if len(absent) != len(wanted) || pages.Load() != 1000 || gets.Load() != 2 {
		t.Errorf("%d objects are absent, after %d pages and %d gets", len(absent), pages.Load(), gets.Load())
	}
}
