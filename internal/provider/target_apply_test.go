package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
)

func TestLeavesOut(t *testing.T) {
	t.Parallel()
	var model targetModel
	planned := state.Planned{Write: map[deploy.Key]state.PlannedWrite{{Cluster: "a", Bundle: "written"}: {Digest: "new"}}}
	model.Planned = types.StringValue(planned.Encode())
	if model.planned().LeavesOut(deploy.Key{Cluster: "a", Bundle: "written"}) || !model.planned().LeavesOut(deploy.Key{Cluster: "a", Bundle: "absent"}) {
		t.Error("what the plan shows and what it leaves out is mixed up")
	}
	model.setUnknown()
	if model.planned().LeavesOut(deploy.Key{Cluster: "a", Bundle: "absent"}) {
		t.Error("a plan that knows nothing leaves nothing out")
	}
}
