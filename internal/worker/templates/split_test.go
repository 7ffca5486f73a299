package templates

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
)

// A hook is a separate document. Objects in a list are deployed and planned like all other objects.
func TestListsHoldNoHooks(t *testing.T) {
	t.Parallel()
	parsed, err := manifest.Parse([]byte("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {helm.sh/hook: test}}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	ordinary, hooks, err := render.SplitHooks(parsed)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := manifest.List(ordinary, "default", "digest")
	if err != nil {
		t.Fatal(err)
	}
	if len(hooks) != 0 || len(listed) != 1 || listed[0].Key() != "Pod/default/a" {
		t.Errorf("the hooks are %v and the objects %v", hooks, listed)
	}
}
