package fleet

import (
	"context"
	"maps"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
)

// Handover moves deployments from a Fleet to direct delivery.
type Handover struct {
	From *Engine
	To   *run.Runner
}

// Observe reads the deployments that are delivered directly. The records of the Fleet's deployments
// stay as they are: the next apply takes these deployments over.
func (h Handover) Observe(
	ctx context.Context, identity deploy.TargetIdentity, drift deploy.Drift, records map[deploy.Key]deploy.Record,
) deploy.Observation {
	direct, fromFleet := map[deploy.Key]deploy.Record{}, map[deploy.Key]deploy.Record{}
	for key, record := range records {
		if record.Known.Engine {
			fromFleet[key] = record
			continue
		}
		direct[key] = record
	}
	found := h.To.Observe(ctx, identity, drift, direct)
	maps.Copy(found.Records, fromFleet)
	found.AllSeen = found.AllSeen && len(fromFleet) == 0
	return found
}

// Apply makes the Fleet hand back its deployments, and then carries out the request directly. It
// does not touch a deployment that the Fleet has not handed back.
func (h Handover) Apply(ctx context.Context, request run.Request) deploy.Outcome {
	var keys []deploy.Key
	for _, d := range request.Write {
		if key := deploy.KeyOf(d); request.Prior[key].Known.Engine && request.Blocked[key] == nil {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return h.To.Apply(ctx, request)
	}
	blocked := maps.Clone(request.Blocked)
	if blocked == nil {
		blocked = map[deploy.Key]error{}
	}
	maps.Copy(blocked, h.From.HandBack(ctx, request, keys))
	request.Blocked = blocked
	return h.To.Apply(ctx, request)
}
