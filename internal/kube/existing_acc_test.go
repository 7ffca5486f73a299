package kube_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"k8s.io/cli-runtime/pkg/resource"
)

// Existing objects are read with their metadata alone and with their kind, by a list or one by one.
func TestAccExisting(t *testing.T) {
	t.Parallel()
	l := newLab(t, "existing")
	l.create(t, l.infos(t, configMap("a", ""), configMap("b", ""), configMap("c", "")))
	tests := map[string]struct {
		names       []string
		found, gone int
		requests    int64
	}{
		"one by itself":        {names: []string{"a"}, found: 1, requests: 1},
		"one that is not":      {names: []string{"x"}, gone: 1, requests: 1},
		"several by one list":  {names: []string{"a", "b", "x", "v"}, found: 2, gone: 2, requests: 1},
		"all of them are new":  {names: []string{"x", "v", "w"}, gone: 3, requests: 1},
		"all of them are here": {names: []string{"a", "b", "c"}, found: 3, requests: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wanted []*resource.Info
			for _, object := range test.names {
				wanted = append(wanted, l.infos(t, configMap(object, ""))...)
			}
			var counted atomic.Int64
			found, absent := counting(t, l, &counted).Existing(t.Context(), wanted)
			if len(found) != test.found || len(absent) != test.gone || counted.Load() != test.requests {
				t.Errorf("%d found, %d absent with %d requests, want %d, %d with %d", len(found), len(absent), counted.Load(), test.found, test.gone, test.requests)
			}
			for object, got := range found {
				if got.GetName() != object.Name || got.GetKind() != "PartialObjectMetadata" || got.GetUID() == "" || got.Object["data"] != nil {
					t.Errorf("%s is told as %s", object.Name, fmt.Sprint(got.Object))
				}
			}
		})
	}
}
