package kube

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// A repository contains diff.comparePatches, which are applied to every object.
func TestAttackComparePatches(t *testing.T) {
	t.Parallel()
	pointers := func(many int) []string {
		var made []string
		for i := range many {
			made = append(made, fmt.Sprintf("/metadata/name/%d", i))
		}
		return made
	}
	operations := func(many int, operation fleetyaml.Operation) []fleetyaml.Operation {
		return slices.Repeat([]fleetyaml.Operation{operation}, many)
	}
	add := func(size int) fleetyaml.Operation {
		return fleetyaml.Operation{Op: "add", Path: "/metadata/annotations/a", Value: strings.Repeat("a", size)}
	}
	tests := map[string]struct {
		patch  fleetyaml.ComparePatch
		refuse bool
	}{
		"copy doubles":          {patch: fleetyaml.ComparePatch{Operations: operations(1, fleetyaml.Operation{Op: "copy", Path: "/a", Value: "/"})}, refuse: true},
		"move":                  {patch: fleetyaml.ComparePatch{Operations: operations(1, fleetyaml.Operation{Op: "move", Path: "/a", Value: "/b"})}, refuse: true},
		"many pointers":         {patch: fleetyaml.ComparePatch{JSONPointers: pointers(maxOperations + 1)}, refuse: true},
		"many operations":       {patch: fleetyaml.ComparePatch{Operations: operations(maxOperations+1, add(1))}, refuse: true},
		"much to add":           {patch: fleetyaml.ComparePatch{Operations: operations(20, add(maxGrowth/10))}, refuse: true},
		"a long pattern":        {patch: fleetyaml.ComparePatch{Kind: strings.Repeat("*a", maxPattern)}, refuse: true},
		"a nested pattern":      {patch: fleetyaml.ComparePatch{Kind: strings.Repeat("{a,*", 40) + strings.Repeat("}", 40)}},
		"a list without an end": {patch: fleetyaml.ComparePatch{Kind: "Secret{", JSONPointers: pointers(1)}},
		"an empty list":         {patch: fleetyaml.ComparePatch{Kind: "Secre[a-z]{}", JSONPointers: pointers(1)}},
		"as many as may be":     {patch: fleetyaml.ComparePatch{JSONPointers: pointers(maxOperations / 2), Operations: operations(maxOperations/2, add(10))}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.patch.Kind == "" {
				test.patch.Kind = "Secret"
			}
			test.patch.APIVersion = "v1"
			begun := time.Now()
			compiled, err := compileRules(comparePatches(test.patch))
			if (err != nil) != test.refuse {
				t.Fatalf("error: %v, want one: %t", err, test.refuse)
			}
			if err != nil {
				return
			}
			object := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": strings.Repeat("a", 63)},
				"data": map[string]any{"a": strings.Repeat("a", 1<<20)},
			}}
			if _, err := compiled.normalize(object); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took > 2*time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
}
