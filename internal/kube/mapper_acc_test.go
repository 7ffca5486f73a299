package kube_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"
)

// TestAccMapsKindsAsClientGo compares with the mapper of client-go, kind by kind.
func TestAccMapsKindsAsClientGo(t *testing.T) {
	t.Parallel()
	client := newLab(t, "maps-kinds").Client
	found, err := client.ToDiscoveryClient()
	if err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(found)
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := client.ToRESTMapper()
	if err != nil {
		t.Fatal(err)
	}
	want := restmapper.NewDiscoveryRESTMapper(groups)
	kinds := []schema.GroupKind{{Group: "example.com", Kind: "Unknown"}, {Kind: "Unknown"}}
	for _, group := range groups {
		if strings.HasSuffix(group.Group.Name, ".example.com") {
			continue // Another test creates and deletes this kind.
		}
		for _, resources := range group.VersionedResources {
			for _, resource := range resources {
				kinds = append(kinds, schema.GroupKind{Group: group.Group.Name, Kind: resource.Kind})
			}
		}
	}
	for _, kind := range kinds {
		expected, wantErr := want.RESTMapping(kind)
		got, err := mapper.RESTMapping(kind)
		if meta.IsNoMatchError(err) != meta.IsNoMatchError(wantErr) {
			t.Errorf("%v: error = %v, want %v", kind, err, wantErr)
			continue
		}
		if wantErr != nil {
			continue
		}
		if difference := cmp.Diff([]any{expected.Resource, expected.GroupVersionKind, expected.Scope.Name()}, []any{got.Resource, got.GroupVersionKind, got.Scope.Name()}); difference != "" {
			t.Errorf("%v (-client-go +here):\n%s", kind, difference)
		}
	}
}
