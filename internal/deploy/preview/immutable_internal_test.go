package preview

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/immutable"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// A plan reports immutable fields of objects that are known before and after it.
func TestImmutableChanges(t *testing.T) {
	t.Parallel()
	job := func(image string, isHook bool) diff.Document {
		return diff.Document{
			Object: diff.Object{Group: "batch", Kind: "Job", Namespace: "ns", Name: "web"}, Hook: isHook,
			Content: `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"web"},"spec":{"template":{"spec":{"containers":[{"name":"a","image":"` + image + `"}]}}}}`,
		}
	}
	const key = "Job.batch/ns/web"
	changed := []immutable.Change{{Object: key, Fields: []string{"spec.template"}}}
	tests := map[string]struct {
		before, after []diff.Document
		varying       map[string]bool
		want          []immutable.Change
	}{
		"changed":   {before: []diff.Document{job("a", false)}, after: []diff.Document{job("b", false)}, want: changed},
		"the same":  {before: []diff.Document{job("a", false)}, after: []diff.Document{job("a", false)}},
		"added":     {after: []diff.Document{job("b", false)}},
		"removed":   {before: []diff.Document{job("a", false)}},
		"hook":      {before: []diff.Document{job("a", true)}, after: []diff.Document{job("b", true)}},
		"was hook":  {before: []diff.Document{job("a", true)}, after: []diff.Document{job("b", false)}},
		"not known": {before: []diff.Document{job("a", false)}, after: []diff.Document{job("b", false)}, varying: map[string]bool{key: true}},
		"broken":    {before: []diff.Document{{Object: job("", false).Object, Content: "{"}}, after: []diff.Document{job("b", false)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := immutableChanges(test.before, release.Rendering{Documents: test.after, Varying: test.varying})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
