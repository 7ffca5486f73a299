package kube_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

func definitionOfWidgets(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	var made unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(established), &made.Object); err != nil {
		t.Fatal(err)
	}
	return &made
}

const established = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com, uid: a, resourceVersion: "5"}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  versions: [{name: v1alpha1, served: false}, {name: v1, served: true}]
status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]}
`

// behind is a server whose discovery lists a kind later than its definition is established.
type behind struct {
	definition *unstructured.Unstructured
	from       int64 // the reading from which on discovery lists the kind
	readings   atomic.Int64
}

func (b *behind) answer(w http.ResponseWriter, r *http.Request) {
	group := func(name string) metav1.APIGroup {
		served := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
		return metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{served}, PreferredVersion: served}
	}
	resources := func(version string, has metav1.APIResource) metav1.APIResourceList {
		return metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: version, APIResources: []metav1.APIResource{has}}
	}
	switch strings.TrimSuffix(r.URL.Path, "/") {
	case "/api":
		answer(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}})
	case "/apis":
		groups := []metav1.APIGroup{group("apiextensions.k8s.io")}
		if b.readings.Add(1) >= b.from {
			groups = append(groups, group("example.com"))
		}
		answer(w, http.StatusOK, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}, Groups: groups})
	case "/apis/apiextensions.k8s.io/v1":
		answer(w, http.StatusOK, resources("apiextensions.k8s.io/v1", metav1.APIResource{Name: "customresourcedefinitions", Kind: "CustomResourceDefinition", Verbs: metav1.Verbs{"get"}}))
	case "/apis/example.com/v1":
		answer(w, http.StatusOK, resources("example.com/v1", metav1.APIResource{Name: "widgets", Kind: "Widget", Verbs: metav1.Verbs{"get"}}))
	case "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com":
		answer(w, http.StatusOK, b.definition.Object)
	default:
		http.NotFound(w, r)
	}
}

// The next caller after a definition must find its kind.
func TestDefinitionsAreReadyWhenTheirKindsAreServed(t *testing.T) {
	t.Parallel()
	waits := map[string]func(context.Context, *kube.Client, *unstructured.Unstructured) error{
		"of who wrote them": func(ctx context.Context, client *kube.Client, definition *unstructured.Unstructured) error {
			return client.WaitReady(ctx, []*resource.Info{{
				Name: definition.GetName(), Mapping: &meta.RESTMapping{
					GroupVersionKind: definition.GroupVersionKind(), Scope: meta.RESTScopeRoot,
					Resource: definition.GroupVersionKind().GroupVersion().WithResource("customresourcedefinitions"),
				},
			}}, release.Readiness{})
		},
		"of who depends on them": func(ctx context.Context, client *kube.Client, definition *unstructured.Unstructured) error {
			finding, err := client.Await(ctx, release.Inspection{}, []*unstructured.Unstructured{definition})
			if err == nil && !finding.Settled() {
				return errors.New(finding.NotReady[0].Object + " is " + finding.NotReady[0].Reason)
			}
			return err
		},
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			widget := schema.GroupKind{Group: "example.com", Kind: "Widget"}
			late := &behind{definition: definitionOfWidgets(t), from: 4}
			client := clientOf(t, to(serve(t, late.answer)))
			if err := wait(soon(t, long), client, late.definition); err != nil {
				t.Fatal(err)
			}
			readings := late.readings.Load()
			mapper, err := client.ToRESTMapper()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := mapper.RESTMapping(widget, "v1"); err != nil || readings != 4 || late.readings.Load() != readings {
				t.Errorf("the kind is found after %d readings, want 4, and %d more (%v)", readings, late.readings.Load()-readings, err)
			}

			never := &behind{definition: definitionOfWidgets(t), from: 1 << 30}
			const moment = 3 * time.Second // Enough for one reading on a busy machine.
			err = wait(soon(t, moment), clientOf(t, to(serve(t, never.answer))), never.definition)
			if want := "CustomResourceDefinition widgets.example.com is InProgress: the kind Widget is not served as v1 yet"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("one that is never served: %v, want %q", err, want)
			}
		})
	}
}
