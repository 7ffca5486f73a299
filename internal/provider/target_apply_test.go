package provider

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
)

func TestLeavesOut(t *testing.T) {
	t.Parallel()
	var planned targetModel
	planned.setShown(state.Contents{Records: map[deploy.Key]deploy.Record{{Cluster: "a", Bundle: "kept"}: {Digest: "old"}}}.Shown())
	if planned.shown().LeavesOut(deploy.Key{Cluster: "a", Bundle: "kept"}) || !planned.shown().LeavesOut(deploy.Key{Cluster: "a", Bundle: "absent"}) {
		t.Error("what the plan shows and what it leaves out is mixed up")
	}
	planned.setUnknown()
	if planned.shown().LeavesOut(deploy.Key{Cluster: "a", Bundle: "absent"}) {
		t.Error("a plan that knows nothing leaves nothing out")
	}
}
