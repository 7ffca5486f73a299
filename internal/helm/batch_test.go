package helm

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

// Objects that do not depend on each other are written in parallel, in Helm's order.
func TestBatches(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		objects []string
		want    string
	}{
		"nothing":                    {},
		"one kind":                   {objects: []string{"Role/a", "Role/b"}, want: "Role/a Role/b"},
		"kinds that need each other": {objects: []string{"Role/a", "RoleBinding/a"}, want: "Role/a | RoleBinding/a"},
		"kinds that hold data": {
			objects: []string{"ServiceAccount/a", "Secret/a", "ConfigMap/a", "Service/a", "Deployment/a"},
			want:    "ServiceAccount/a Secret/a ConfigMap/a Service/a | Deployment/a",
		},
		"on the way out": {
			objects: []string{"Service/a", "Deployment/a", "ConfigMap/a", "Secret/a", "ServiceAccount/a"},
			want:    "Service/a | Deployment/a | ConfigMap/a Secret/a ServiceAccount/a",
		},
		"tokens after their service account": {
			objects: []string{"ServiceAccount/a", "Secret/a", "Secret/b:token", "Secret/c:token", "Secret/d", "ConfigMap/a"},
			want:    "ServiceAccount/a Secret/a | Secret/b Secret/c | Secret/d ConfigMap/a",
		},
		"one object twice": {objects: []string{"ConfigMap/a", "ConfigMap/b", "ConfigMap/a"}, want: "ConfigMap/a ConfigMap/b | ConfigMap/a"},
		"a name for two":   {objects: []string{"Secret/a", "ConfigMap/a"}, want: "Secret/a ConfigMap/a"},
		"another group's":  {objects: []string{"ConfigMap/a", "Service.serving.knative.dev/a"}, want: "ConfigMap/a | Service/a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var objects kube.ResourceList
			for _, text := range test.objects {
				objects = append(objects, infoOf(text))
			}
			var parts []string
			for _, part := range batches(objects) {
				var names []string
				for _, object := range part {
					names = append(names, object.Mapping.GroupVersionKind.Kind+"/"+object.Name)
				}
				parts = append(parts, strings.Join(names, " "))
			}
			if diff := cmp.Diff(test.want, strings.Join(parts, " | ")); diff != "" {
				t.Errorf("batches (-want +got):\n%s", diff)
			}
		})
	}
}

// infoOf returns an object for "Kind.group/name:token", where group and token can be missing.
func infoOf(text string) *resource.Info {
	text, isToken := strings.CutSuffix(text, ":token")
	kind, name, _ := strings.Cut(text, "/")
	of := schema.ParseGroupKind(kind).WithVersion("v1")
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if isToken {
		object.Object["type"] = "kubernetes.io/service-account-token"
	}
	return &resource.Info{Namespace: "ns", Name: name, Object: object, Mapping: &meta.RESTMapping{GroupVersionKind: of}}
}

// A panic while one object is written fails only that object and does not end the process.
func TestEachWritesBesideAPanic(t *testing.T) {
	t.Parallel()
	named := func(name string) *resource.Info {
		return &resource.Info{Name: name, Mapping: &meta.RESTMapping{GroupVersionKind: schema.GroupVersionKind{Kind: "ConfigMap"}, Scope: meta.RESTScopeRoot}}
	}
	var written atomic.Int32
	errs := each([]*resource.Info{named("a"), named("b"), named("c")}, func(object *resource.Info) error {
		if object.Name == "b" {
			panic("broken")
		}
		written.Add(1)
		return nil
	})
	if panicked := new(panics.Error); len(errs) != 1 || !errors.As(errs[0], &panicked) || written.Load() != 2 {
		t.Errorf("%d written, errors %v", written.Load(), errs)
	}
}
