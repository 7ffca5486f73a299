package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/cluster"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/config"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleet"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// delivery reads the state of deployments, and carries out what a plan has decided.
type delivery interface {
	Observe(ctx context.Context, identity deploy.TargetIdentity, drift deploy.Drift, records map[deploy.Key]deploy.Record) deploy.Observation
	Apply(ctx context.Context, request run.Request) deploy.Outcome
}

var (
	_ delivery = (*run.Runner)(nil)
	_ delivery = (*fleet.Engine)(nil)
	_ delivery = fleet.Handover{}
)

func (p *providerData) delivery() delivery {
	switch {
	case p.fleetEngine == nil:
		return p.runner
	case p.Management.HandsBack:
		return fleet.Handover{From: p.fleetEngine, To: p.runner}
	}
	return p.fleetEngine
}

// reachOf returns which clusters can be reached.
func reachOf(f *providerData) plan.Reach {
	if f.HasEngine() {
		return allReachable{}
	}
	return f.clusters
}

// allReachable reports all clusters as reachable: only the management cluster is connected to.
type allReachable struct{}

func (allReachable) Has(string) bool { return true }

func (allReachable) Check(string) error { return nil }

// withInventory returns the provider with the clusters and groups of its Fleet. They are read if
// they are not stored yet, for example by the plan of a create. Clusters in the configuration take
// precedence: then the configuration pins them.
func (p *providerData) withInventory(ctx context.Context, stored *state.Inventory, diags *diag.Diagnostics) (with *providerData, inventory *state.Inventory) {
	if !p.HasEngine() || p.fleetEngine == nil {
		return p, nil
	}
	entries := map[string]cluster.Entry{}
	for name, of := range p.Clusters {
		of.ConnectionUnknown = true // Only the management cluster is connected to.
		entries[name] = of
	}
	changed := *p
	if len(entries) == 0 && !p.ClustersUnknown {
		if stored == nil {
			stored = readInventory(ctx, p.fleetEngine, diags)
		}
		for _, facts := range stored.Clusters {
			entries[facts.Name] = cluster.Entry{Facts: facts, ConnectionUnknown: true}
		}
		changed.Groups = stored.Groups
	}
	changed.clusters = cluster.NewSet(entries, p.charts, p.masker)
	return &changed, stored
}

// readInventory reads the clusters and groups of a Fleet. It returns an empty inventory after an
// error.
func readInventory(ctx context.Context, from *fleet.Engine, diags *diag.Diagnostics) *state.Inventory {
	read, err := from.Inventory(ctx)
	if err != nil {
		diagnostics.Add(diags, report.Failed("Cannot read the clusters of the engine", err))
		return &state.Inventory{}
	}
	return &state.Inventory{Clusters: read.Facts(), Groups: read.Groups}
}

// reportMoves reports deployments that were delivered in another way than is configured now.
func (s *targetState) reportMoves(by *config.Management, wanted []target.Deployment, diags *diag.Diagnostics) {
	name, moves := s.Name.ValueString(), state.MovesOf(s.known.Records, wanted, by.Delivers())
	if by == nil {
		diagnostics.Add(diags, report.WithoutEngine(name, slices.Concat(moves.Wanted, moves.Unwanted)))
		return
	}
	diagnostics.Add(diags, report.CannotMove(name, moves.Unwanted, by.Delivers()))
	if !diags.HasError() {
		diagnostics.Add(diags, report.DeliveryMoves(name, moves.Wanted, by.Delivers()))
	}
}

// notWithEngine reports attributes of a target that an engine does not support.
func (m *targetModel) notWithEngine() []report.Message {
	var messages []report.Message
	refuse := func(is bool, attribute string) {
		if is {
			messages = append(messages, report.NotWithEngine(m.Name.ValueString(), attribute, fleet.Refusal("fleet_cluster_target", attribute))...)
		}
	}
	refuse(m.holdsBroken(), "on_error")
	refuse(!m.ReadyFor.IsNull(), "ready_for")
	refuse(m.ExplainLogs.ValueBool(), "explain_logs")
	refuse(!m.TakeOwnershipOf.IsNull(), "take_ownership_of")
	return messages
}

// checkTaken reports releases that another owner delivers by the Fleet.
func (p *providerData) checkTaken(ctx context.Context, name string, write []target.Deployment, prior map[deploy.Key]deploy.Record, diags *diag.Diagnostics) {
	if !p.Management.Delivers() || p.fleetEngine == nil || p.OwnerUnknown {
		return
	}
	taken, err := p.fleetEngine.Taken(ctx, p.Owner, write, prior)
	if err != nil {
		diagnostics.Add(diags, report.TakenUnknown(name, err))
	}
	diagnostics.Add(diags, report.Taken(name, taken))
}

// checkForEngine finds errors in a deployment that an engine is to carry out.
func checkForEngine(d target.Deployment) error {
	if err := checkDeployment(d); err != nil {
		return err
	}
	return fleet.Check(d)
}

// newFleetEngine makes the engine that delivers by the Fleet of the management cluster. It connects
// at its first use.
func newFleetEngine(m *config.Management, parallelism int, charts fleet.Charts, masker *mask.Masker) *fleet.Engine {
	if m == nil || m.Unknown {
		return nil
	}
	connect := func() (fleet.Connection, error) { return kube.New(m.Connection, masker) }
	return fleet.New(fleet.Settings{Namespace: m.Namespace, OfflineAfter: m.OfflineAfter, OnOffline: m.OnOffline, Parallelism: parallelism}, connect, charts, masker)
}
