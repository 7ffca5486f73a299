package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/cluster"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/engine"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// delivery reads how deployments are doing, and carries out what a plan has decided.
type delivery interface {
	Observe(ctx context.Context, identity deploy.TargetIdentity, drift deploy.Drift, records map[deploy.Key]deploy.Record) deploy.Observation
	Apply(ctx context.Context, request deploy.Request) deploy.Outcome
}

var (
	_ delivery = (*deploy.Engine)(nil)
	_ delivery = (*engine.Engine)(nil)
)

// hasEngine reports whether a Fleet delivers, even if it is not known yet which.
func (f *providerData) hasEngine() bool { return f.management != nil }

func (f *providerData) delivery() delivery {
	if f.fleetEngine != nil {
		return f.fleetEngine
	}
	return f.engine
}

// reach says which clusters can be reached.
func (f *providerData) reach() deploy.Reach {
	if f.hasEngine() {
		return everywhere{}
	}
	return f.clusters
}

// everywhere reaches all clusters: only the management cluster is connected to.
type everywhere struct{}

func (everywhere) Has(string) bool { return true }

func (everywhere) Check(string) error { return nil }

// withInventory is the provider with the clusters and groups of its Fleet. They are read if they
// are not stored yet, as while a create is planned. Clusters of the configuration take
// precedence: then the configuration pins them.
func (f *providerData) withInventory(ctx context.Context, stored *state.Inventory, diags *diag.Diagnostics) (with *providerData, inventory *state.Inventory) {
	if f.fleetEngine == nil {
		return f, nil
	}
	entries := map[string]cluster.Entry{}
	for name, of := range f.entries {
		of.ConnectionUnknown = true // Only the management cluster is connected to.
		entries[name] = of
	}
	changed := *f
	if len(entries) == 0 && !f.clustersUnknown {
		if stored == nil {
			stored = f.readInventory(ctx, diags)
		}
		for _, facts := range stored.Clusters {
			entries[facts.Name] = cluster.Entry{Facts: facts, ConnectionUnknown: true}
		}
		changed.groups = stored.Groups
	}
	changed.clusters = cluster.NewSet(entries, f.charts, f.masker)
	return &changed, stored
}

// readInventory reads what a Fleet knows of its clusters. It is empty after an error.
func (f *providerData) readInventory(ctx context.Context, diags *diag.Diagnostics) *state.Inventory {
	read, err := f.fleetEngine.Inventory(ctx)
	if err != nil {
		addMessages(diags, report.Failed("Cannot read the clusters of the engine", err))
		return &state.Inventory{}
	}
	return &state.Inventory{Clusters: read.Facts(), Groups: read.Groups}
}

// checkDelivery reports deployments that were delivered in another way than is configured now. It
// returns false if there are any: nothing is read or changed then.
func (f *providerData) checkDelivery(m *targetModel, diags *diag.Diagnostics) bool {
	others := state.DeliveredOtherwise(m.records(), f.hasEngine())
	addMessages(diags, report.DeliveredOtherwise(m.Name.ValueString(), others, f.hasEngine()))
	return len(others) == 0
}

// notWithEngine reports what a target has and an engine cannot do.
func (m *targetModel) notWithEngine() []report.Message {
	var messages []report.Message
	refuse := func(is bool, attribute string) {
		if is {
			messages = append(messages, report.NotWithEngine(m.Name.ValueString(), attribute, engine.Refusal("fleet_cluster_target", attribute))...)
		}
	}
	refuse(m.holdsBroken(), "on_error")
	refuse(!m.AdoptionKey.IsNull(), "adoption_key")
	return messages
}

// checkDeployment finds what is wrong with a deployment before it is planned.
func (f *providerData) checkDeployment(d target.Deployment) error {
	if err := checkDeployment(d); err != nil || !f.hasEngine() {
		return err
	}
	return engine.Check(d)
}
