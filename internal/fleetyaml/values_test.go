package fleetyaml_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

func TestMergeValues(t *testing.T) {
	t.Parallel()

	type values = map[string]any
	base := values{"keep": 1, "list": []any{1, 2}, "map": values{"a": 1, "b": values{"c": 1}}, "text": "t", "gone": 1}
	over := values{"list": []any{3}, "map": values{"b": values{"d": 2}}, "text": values{"now": "a map"}, "gone": nil}
	want := values{
		"keep": 1, "list": []any{3}, "map": values{"a": 1, "b": values{"c": 1, "d": 2}},
		"text": values{"now": "a map"}, "gone": nil,
	}
	before := cmp.Diff(base, values{})

	if diff := cmp.Diff(want, fleetyaml.MergeValues(base, over)); diff != "" {
		t.Errorf("MergeValues() (-want +got):\n%s", diff)
	}
	if after := cmp.Diff(base, values{}); len(after) != len(before) {
		t.Errorf("base was changed: %v", base)
	}
	if got := fleetyaml.MergeValues(nil, over); !cmp.Equal(got, over) {
		t.Errorf("MergeValues(nil, over) = %v", got)
	}
}

// A change of a copy does not change the original, at any depth.
//
//nolint:forcetypeassert // a panic fails the test
func TestCopyValues(t *testing.T) {
	t.Parallel()

	type values = map[string]any
	tests := map[string]struct {
		make   func() values
		change func(values)
		want   values // Of the copy.
	}{
		"none":             {make: func() values { return nil }, change: func(v values) { v["a"] = 1 }, want: values{"a": 1}},
		"a value":          {make: func() values { return values{"a": 1} }, change: func(v values) { v["a"] = 2 }, want: values{"a": 2}},
		"null":             {make: func() values { return values{"a": nil} }, change: func(v values) { v["b"] = 1 }, want: values{"a": nil, "b": 1}},
		"in a map":         {make: func() values { return values{"a": values{"b": values{}}} }, change: func(v values) { v["a"].(values)["b"].(values)["c"] = 1 }, want: values{"a": values{"b": values{"c": 1}}}},
		"in a list":        {make: func() values { return values{"a": []any{1, []any{2}}} }, change: func(v values) { v["a"].([]any)[1].([]any)[0] = 3 }, want: values{"a": []any{1, []any{3}}}},
		"a map in a list":  {make: func() values { return values{"a": []any{values{"b": 1}}} }, change: func(v values) { v["a"].([]any)[0].(values)["b"] = 2 }, want: values{"a": []any{values{"b": 2}}}},
		"empty, not none":  {make: func() values { return values{"a": values{}, "b": []any{}} }, change: func(values) {}, want: values{"a": values{}, "b": []any{}}},
		"a removed member": {make: func() values { return values{"a": values{"b": 1}} }, change: func(v values) { delete(v["a"].(values), "b") }, want: values{"a": values{}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			original := tt.make()
			copied := fleetyaml.CopyValues(original)
			tt.change(copied)
			if diff := cmp.Diff(tt.want, copied); diff != "" {
				t.Errorf("the copy (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.make(), original); diff != "" {
				t.Errorf("the original (-before +after):\n%s", diff)
			}
		})
	}
}
