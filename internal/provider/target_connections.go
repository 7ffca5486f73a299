package provider

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
)

// connectionsKey is where a target keeps how it reaches the clusters that it has
// deployments on, in private state. A cluster whose entry is taken out of the
// provider can be cleaned up in the same apply then. Of a connection that needs more than
// kube.Stored nothing is kept.
const connectionsKey = "connections"

// connections says how clusters are reached, by name.
type connections struct {
	of map[string]kube.Stored
	// raw is what stands in private state.
	raw []byte
}

func readConnections(ctx context.Context, private privateReader, diags *diag.Diagnostics) connections {
	raw, found := private.GetKey(ctx, connectionsKey)
	diags.Append(found...)
	known := connections{of: map[string]kube.Stored{}, raw: raw}
	if len(raw) == 0 {
		return known
	}
	// Earlier versions kept connections with more in them.
	var connectionsBefore map[string]kube.Connection
	if err := json.Unmarshal(raw, &connectionsBefore); err != nil {
		diags.AddError("Cannot read how clusters were reached", "The private state of the target is damaged.")
		return known
	}
	if err := json.Unmarshal(raw, &known.of); err != nil {
		diags.AddError("Cannot read how clusters were reached", "The private state of the target is damaged.")
	}
	for name, before := range connectionsBefore {
		if stored, ok := before.Stored(); !ok {
			delete(known.of, name)
		} else if known.of[name].ExecCommand == "" {
			known.of[name] = stored
		}
	}
	return known
}

// rememberConnections keeps how the clusters of records are reached, and what is
// known of those whose entry is gone.
func (f *fleet) rememberConnections(ctx context.Context, known connections, after privateWriter, records map[deploy.Key]deploy.Record, diags *diag.Diagnostics) {
	now := map[string]kube.Stored{}
	for key := range records {
		found, ok := f.clusters[key.Cluster]
		if !ok {
			if before, had := known.of[key.Cluster]; had {
				now[key.Cluster] = before
			}
			continue
		}
		if found.connectionUnknown {
			continue
		}
		if stored, ok := found.connection.Stored(); ok {
			now[key.Cluster] = stored
		}
	}
	raw, err := json.Marshal(now)
	if err != nil {
		diags.AddError("Cannot store how clusters are reached", sentence(err))
		return
	}
	if bytes.Equal(raw, known.raw) || len(now) == 0 && len(known.raw) == 0 {
		return
	}
	diags.Append(after.SetKey(ctx, connectionsKey, raw)...)
}

// recall makes clusters reachable whose entry is gone, as they were before. uids
// are the identities that they must still have.
func (f *fleet) recall(ctx context.Context, private privateReader, diags *diag.Diagnostics) {
	if f.clustersUnknown {
		return
	}
	uids := readClusters(ctx, private, diags)
	known := readConnections(ctx, private, diags)
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, stored := range known.of {
		if f.clusters[name] != nil || f.recalled[name] != nil {
			continue
		}
		if f.recalled == nil {
			f.recalled = map[string]*member{}
		}
		f.recalled[name] = &member{name: name, connection: stored.Connection(), uid: uids[name]}
	}
}

// member finds a cluster by its name, nil if there is none.
func (f *fleet) member(name string) *member {
	if found, ok := f.clusters[name]; ok {
		return found
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.recalled[name]
}
