package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// The changes that a cluster made to objects are in records, where the delete of a tainted target
// finds them.
func TestAcceptedDifferencesAreKept(t *testing.T) {
	t.Parallel()
	key := deploy.Key{Cluster: "c", Bundle: "web"}
	stored := map[string]string{"Widget ns/web: spec.pruned": "-"}
	record := deploy.Record{Release: "web", Namespace: "ns", State: status.Ready, Accepted: stored, Known: release.Known{Release: "web", Namespace: "ns", Revision: 3}}
	var model targetModel
	model.setShown(state.Contents{Records: map[deploy.Key]deploy.Record{key: record}}.Shown())
	records := state.Decode(model.shown, model.planned(), state.DriftState{}).Records
	if diff := cmp.Diff(map[deploy.Key]deploy.Record{key: record}, records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(stored, replacedState(plan.Predecessor{Records: records}).known.Records[key].Accepted); diff != "" {
		t.Errorf("records of a replacement (-want +got):\n%s", diff)
	}
}
