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
