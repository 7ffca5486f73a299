package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// ImportState imports the releases with the provider's owner and the name of the target from the
// provider's clusters. It changes nothing there: the target continues as the instance that is
// recorded on its releases.
func (r *targetResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	name, only, err := deploy.ParseImportID(req.ID)
	if err != nil {
		diagnostics.Add(&resp.Diagnostics, report.Failed("Cannot import "+req.ID, err))
		return
	}
	clusters := only
	if len(only) == 0 {
		clusters = r.providerData.clusters.Names()
	}
	scope := deploy.ImportScope{
		Clusters: clusters, OwnerUnknown: r.providerData.OwnerUnknown, ClustersUnknown: r.providerData.ClustersUnknown, ConnectionUnknown: r.providerData.clusters.ConnectionUnknown,
	}
	diagnostics.Add(&resp.Diagnostics, report.ImportUnknown(name, scope.Unknown()))
	if resp.Diagnostics.HasError() {
		return
	}
	imported := deploy.Import(ctx, r.providerData.Owner, name, clusters, r.providerData.Parallelism, func(cluster string) (deploy.RecordLister, error) { return r.providerData.clusters.Connect(cluster) })
	diagnostics.Add(&resp.Diagnostics, report.ImportFailures(name, imported.Failures))
	if resp.Diagnostics.HasError() {
		return
	}
	id := imported.Instance()
	if id == "" {
		diagnostics.Add(&resp.Diagnostics, report.NothingToImport(name, r.providerData.Owner, clusters))
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
	state.setShown(state.contents(imported.Records, nil, nil).Shown())
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// setDefaults sets the defaults of a target of which only the deployments are known.
func setDefaults(m *targetModel) {
	m.Wait, m.DeploymentTimeout, m.MaxHistory = types.BoolValue(true), types.StringValue(defaultTimeout), types.Int64Value(defaultMaxHistory)
	m.TakeOwnership, m.AllowEmpty, m.DeletionProtection = types.BoolValue(false), types.BoolValue(false), types.BoolValue(false)
	m.PlanObjects, m.Drift = types.BoolValue(true), types.StringValue(string(deploy.DriftLive))
}
