package kube_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kinds is a server whose discovery lists Widgets once they are installed.
type kinds struct {
	installed atomic.Bool
	readings  atomic.Int64
}

func (k *kinds) answer(w http.ResponseWriter, r *http.Request) {
	const group, version = "example.com", "example.com/v1"
	resources := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: version}
	resources.APIResources = []metav1.APIResource{{Name: "gadgets", SingularName: "gadget", Kind: "Gadget", Verbs: metav1.Verbs{"get"}}}
	if k.installed.Load() {
		resources.APIResources = append(resources.APIResources, metav1.APIResource{Name: "widgets", SingularName: "widget", Kind: "Widget", Verbs: metav1.Verbs{"get"}})
	}
	switch strings.TrimSuffix(r.URL.Path, "/") {
	case "/api":
		answer(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}})
	case "/apis":
		k.readings.Add(1)
		served := metav1.GroupVersionForDiscovery{GroupVersion: version, Version: "v1"}
		answer(w, http.StatusOK, metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"},
			Groups:   []metav1.APIGroup{{Name: group, Versions: []metav1.GroupVersionForDiscovery{served}, PreferredVersion: served}},
		})
	case "/apis/" + version:
		answer(w, http.StatusOK, resources)
	default:
		http.NotFound(w, r)
	}
}

func TestMapperReadsDiscoveryAgain(t *testing.T) {
	t.Parallel()
	server := &kinds{}
	mapper, err := clientOf(t, to(serve(t, server.answer))).ToRESTMapper()
	if err != nil {
		t.Fatal(err)
	}
	gadget, widget := schema.GroupKind{Group: "example.com", Kind: "Gadget"}, schema.GroupKind{Group: "example.com", Kind: "Widget"}
	for range 3 {
		if _, err := mapper.RESTMapping(gadget, "v1"); err != nil {
			t.Fatal(err)
		}
	}
	if got := server.readings.Load(); got != 1 {
		t.Errorf("discovery was read %d times for a known kind, want once", got)
	}
	if _, err := mapper.RESTMapping(widget, "v1"); !meta.IsNoMatchError(err) {
		t.Errorf("a kind nobody knows: error = %v", err)
	}
	if got := server.readings.Load(); got != 2 {
		t.Errorf("discovery was read %d times for an unknown kind, want twice", got)
	}

	server.installed.Store(true)
	var asking sync.WaitGroup
	for range 20 {
		asking.Go(func() {
			if found, err := mapper.RESTMapping(widget, "v1"); err != nil || found.Resource.Resource != "widgets" {
				t.Errorf("after it was installed: %v, %v", found, err)
			}
		})
	}
	asking.Wait()
	if got := server.readings.Load(); got != 3 {
		t.Errorf("discovery was read %d times although all asked at once", got)
	}
}
