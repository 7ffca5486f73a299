package provider

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
)

// connectionsKey is where a target keeps how it reaches the clusters that it has
// deployments on, in private state. A cluster whose entry is taken out of the
// provider can be cleaned up in the same apply then. What holds a secret is never
// kept.
const connectionsKey = "connections"

// connections says how clusters are reached, by name.
type connections map[string]kube.Connection

func readConnections(ctx context.Context, private privateReader, diags *diag.Diagnostics) connections {
	raw, found := private.GetKey(ctx, connectionsKey)
	diags.Append(found...)
	known := connections{}
	if len(raw) == 0 {
		return known
	}
	if err := json.Unmarshal(raw, &known); err != nil {
		diags.AddError("Cannot read how clusters were reached", sentence(err))
	}
	return known
}

// rememberConnections keeps how the clusters of records are reached, and what is
// known of those whose entry is gone.
func (f *fleet) rememberConnections(ctx context.Context, known connections, after privateWriter, records map[deploy.Key]deploy.Record, diags *diag.Diagnostics) {
	now := connections{}
	for key := range records {
		found, ok := f.clusters[key.Cluster]
		if !ok {
			if before, had := known[key.Cluster]; had {
				now[key.Cluster] = before
			}
			continue
		}
		if !found.connectionUnknown && !found.connection.IsSecret() {
			now[key.Cluster] = found.connection
		}
	}
	if maps.EqualFunc(now, known, func(a, b kube.Connection) bool { return reflect.DeepEqual(a, b) }) {
		return
	}
	raw, err := json.Marshal(now) //nolint:gosec // connections with a password or another secret are not among them
	if err != nil {
		diags.AddError("Cannot store how clusters are reached", sentence(err))
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
	for name, connection := range known {
		if f.clusters[name] != nil || f.recalled[name] != nil {
			continue
		}
		if f.recalled == nil {
			f.recalled = map[string]*member{}
		}
		f.recalled[name] = &member{name: name, connection: connection, uid: uids[name]}
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
