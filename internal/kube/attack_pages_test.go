package kube_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

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
	mapping := &meta.RESTMapping{
		Resource:         corev1.SchemeGroupVersion.WithResource("secrets"),
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Secret"), Scope: meta.RESTScopeNamespace,
	}
	wanted := []*resource.Info{{Mapping: mapping, Namespace: "web", Name: "a"}, {Mapping: mapping, Namespace: "web", Name: "b"}}
	_, absent := clientOf(t, connection).Live(t.Context(), wanted)
	if len(absent) != len(wanted) || pages.Load() != 1000 || gets.Load() != 2 {
		t.Errorf("%d objects are absent, after %d pages and %d gets", len(absent), pages.Load(), gets.Load())
	}
}

// A chart cannot choose the path of a request with the namespace of an object.
func TestAttackPathInNamespace(t *testing.T) {
	for _, namespace := range []string{"..", "../..", "web/secrets/a?x=", "%2e%2e"} {
		var paths atomic.Int64
		connection := to(serve(t, func(w http.ResponseWriter, r *http.Request) {
			paths.Add(1)
			refuse(http.StatusNotFound, metav1.StatusReasonNotFound)(w, r)
		}))
		mapping := &meta.RESTMapping{
			Resource:         corev1.SchemeGroupVersion.WithResource("secrets"),
			GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Secret"), Scope: meta.RESTScopeNamespace,
		}
		objects := []*resource.Info{{Mapping: mapping, Namespace: namespace, Name: "a"}, {Mapping: mapping, Namespace: namespace, Name: "b"}}
		found, absent := clientOf(t, connection).Live(t.Context(), objects)
		if len(found) > 0 || len(absent) > 0 || paths.Load() > 0 {
			t.Errorf("namespace %q: %d objects exist and %d are absent, after %d requests", namespace, len(found), len(absent), paths.Load())
		}
	}
}
