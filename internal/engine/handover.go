package engine

import (
	"context"
	"maps"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

// Handover delivers directly what a Fleet has delivered until now.
type Handover struct {
	From *Engine
	To   *deploy.Engine
}

// Observe looks at what is delivered directly. The deployments of the Fleet stay as they are known:
// the next apply takes them over.
func (h Handover) Observe(ctx context.Context, identity deploy.TargetIdentity, drift deploy.Drift, records map[deploy.Key]deploy.Record) deploy.Observation {
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

// Apply makes the Fleet let go of the deployments that it delivered, and then carries the request out
// directly. What the Fleet has not let go of is not touched.
func (h Handover) Apply(ctx context.Context, request deploy.Request) deploy.Outcome {
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
