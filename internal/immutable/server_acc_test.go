package immutable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/restmapper"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/immutable"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// server is a real API server.
type server struct {
	client dynamic.Interface
	mapper meta.RESTMapper
}

func newServer(t *testing.T) server {
	t.Helper()
	config := testenv.Shared(t).Cluster(0).RESTConfig()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return server{client: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))}
}

func (s server) resource(t *testing.T, object *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	kind := object.GroupVersionKind()
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		t.Fatal(err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return s.client.Resource(mapping.Resource)
	}
	return s.client.Resource(mapping.Resource).Namespace(metav1.NamespaceDefault)
}

// create creates an object for the time of a test.
func (s server) create(t *testing.T, content map[string]any) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: content}
	resource := s.resource(t, object)
	live, err := resource.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		background := metav1.DeletePropagationBackground
		ctx := context.WithoutCancel(t.Context())
		if err := resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			t.Error(err)
		}
	})
	return live
}

// established waits until an object has a value.
func (s server) established(t *testing.T, object *unstructured.Unstructured, is func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	t.Helper()
	seen, err := s.resource(t, object).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + object.GetName()})
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Stop()
	for event := range seen.ResultChan() {
		if now, ok := event.Object.(*unstructured.Unstructured); ok && is(now) {
			return now
		}
	}
	t.Fatalf("%s %s is not as it is to be", object.GetKind(), object.GetName())
	return nil
}

// update tries an update as Helm does, and stores nothing.
func (s server) update(t *testing.T, former, wanted map[string]any, live *unstructured.Unstructured) error {
	t.Helper()
	var texts [3][]byte
	for i, content := range []map[string]any{former, wanted, live.Object} {
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = text
	}
	kind, patch := types.MergePatchType, []byte(nil)
	typed, err := scheme.Scheme.New(live.GroupVersionKind())
	if err == nil {
		kind = types.StrategicMergePatchType
		var schema strategicpatch.PatchMetaFromStruct
		if schema, err = strategicpatch.NewPatchMetaFromStruct(typed); err == nil {
			patch, err = strategicpatch.CreateThreeWayMergePatch(texts[0], texts[1], texts[2], schema, true)
		}
	} else {
		patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch(texts[0], texts[1], texts[2])
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.resource(t, live).Patch(t.Context(), live.GetName(), kind, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// The API server refuses the changes of the table, and no others. The live object changes nothing in
// what is reported, unless the API server has filled in the field.
func TestAccFieldsOfAPIServer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for name, row := range rows() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if row.with != "" {
				for text := range strings.SplitSeq(row.with, "---\n") {
					s.create(t, read(t, name, text))
				}
			}
			before, after := read(t, name, row.before), read(t, name, row.after)
			live := s.create(t, maps.Clone(before))
			if row.bound {
				live = s.established(t, live, func(now *unstructured.Unstructured) bool {
					phase, _, _ := unstructured.NestedString(now.Object, "status", "phase")
					return phase == "Bound"
				})
			}
			if live.GetKind() == "CustomResourceDefinition" {
				live = s.established(t, live, func(now *unstructured.Unstructured) bool {
					return strings.Contains(fmt.Sprint(now.Object["status"]), "InitialNamesAccepted") && strings.Contains(fmt.Sprint(now.Object["status"]), "Established")
				})
			}
			if diff := cmp.Diff(row.fields, immutable.Fields(before, live.Object, after)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			err := s.update(t, before, after, live)
			if refused := err != nil; refused != (len(row.fields) > 0) {
				t.Errorf("the API server: %v", err)
			}
			if got := immutable.Fields(before, live.Object, before); got != nil {
				t.Errorf("without a change, %v changes", got)
			}
		})
	}
}
