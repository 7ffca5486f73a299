package provider

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

func TestLeavesOut(t *testing.T) {
	t.Parallel()
	var planned targetModel
	planned.setRecords(map[deploy.Key]deploy.Record{{Cluster: "a", Bundle: "kept"}: {Digest: "old"}}, nil)
	if planned.shown().LeavesOut(deploy.Key{Cluster: "a", Bundle: "kept"}) || !planned.shown().LeavesOut(deploy.Key{Cluster: "a", Bundle: "absent"}) {
		t.Error("what the plan shows and what it leaves out is mixed up")
	}
	planned.setUnknown()
	if planned.shown().LeavesOut(deploy.Key{Cluster: "a", Bundle: "absent"}) {
		t.Error("a plan that knows nothing leaves nothing out")
	}
}
