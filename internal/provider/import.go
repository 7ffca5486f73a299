package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// ImportState imports the releases with the provider's owner and the name of the target from the
// provider's clusters or from its Fleet. It changes nothing there: the target continues as the instance
// that is recorded on its releases or Bundles.
func (r *targetResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	name, only, err := run.ParseImportID(req.ID)
	if err != nil {
		diagnostics.Add(&resp.Diagnostics, report.Failed("Cannot import "+req.ID, err))
		return
	}
	imported := r.providerData.importTarget(ctx, name, only, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	id := imported.Instance()
	if id == "" {
		diagnostics.Add(&resp.Diagnostics, report.NothingToImport(name, r.providerData.Owner, only, r.providerData.Management.Delivers()))
		return
	}
	all, others := imported.Deployments()
	diagnostics.Add(&resp.Diagnostics, report.Imported(name, all, others))
	var state targetModel
	// State.Get needs an object that is not null. All attributes but the name are null in it.
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("name"), name)...)
	resp.Diagnostics.Append(resp.State.Get(ctx, &state)...)
	state.ID = types.StringValue(id)
	setDefaults(&state)
	state.setOnlyRecords(imported.Records, nil)
	state.save(ctx, &resp.State, &resp.Diagnostics)
}

// importTarget reads the releases of a target where they are delivered from. only are the clusters to
// import from, nil for all.
func (p *providerData) importTarget(ctx context.Context, name string, only []string, diags *diag.Diagnostics) *run.Imported {
	scope := run.ImportScope{OwnerUnknown: p.OwnerUnknown}
	if p.Management.Delivers() {
		scope.EngineUnknown = p.fleetEngine == nil
	} else {
		scope.Clusters = only
		scope.ClustersUnknown = p.ClustersUnknown
		scope.ConnectionUnknown = p.clusters.ConnectionUnknown
		if only == nil {
			scope.Clusters = p.clusters.Names()
		}
	}
	diagnostics.Add(diags, report.ImportUnknown(name, scope.Unknown()))
	if diags.HasError() {
		return nil
	}
	if !p.Management.Delivers() {
		imported := run.Import(ctx, p.Owner, name, scope.Clusters, p.Parallelism, func(cluster string) (run.RecordLister, error) { return p.clusters.Connect(cluster) })
		diagnostics.Add(diags, report.ImportFailures(name, imported.Failures))
		return imported
	}
	imported, err := p.fleetEngine.Import(ctx, p.Owner, name, only)
	if err != nil {
		diagnostics.Add(diags, report.Failed("Cannot import target "+name, err))
		return nil
	}
	diagnostics.Add(diags, report.ImportFailures(name, imported.Failures))
	return imported
}

// setDefaults sets the defaults of a target of which only the deployments are known.
func setDefaults(m *targetModel) {
	m.Wait = types.BoolValue(true)
	m.DeploymentTimeout = types.StringValue(defaultTimeout)
	m.MaxHistory = types.Int64Value(defaultMaxHistory)
	m.TakeOwnership = types.BoolValue(false)
	m.AllowEmpty = types.BoolValue(false)
	m.DeletionProtection = types.BoolValue(false)
	m.PlanObjects, m.Drift = types.BoolValue(true), types.StringValue(string(deploy.DriftLive))
}
