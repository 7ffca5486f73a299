package provider

import (
	"cmp"
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/engine"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// management is the management cluster of a Fleet, in plain values.
type management struct {
	connection kube.Connection
	// unknown says that something of it is not known before an apply.
	unknown bool
	// namespace is where the Cluster objects are.
	namespace    string
	offlineAfter time.Duration
	onOffline    engine.OnOffline
	// handsBack says that the Fleet lets go of what it delivers.
	handsBack bool
}

// delivers reports whether the Fleet delivers. As long as that is unknown it counts as delivering.
func (m *management) delivers() bool { return m != nil && !m.handsBack }

// leavesOffline reports whether an apply can succeed before all deployments are ready.
func (m *management) leavesOffline() bool {
	return m != nil && m.onOffline == engine.LeaveOffline
}

type engineModel struct {
	connectionModel

	Namespace    string `tfsdk:"namespace"`
	OfflineAfter string `tfsdk:"offline_after"`
	OnOffline    string `tfsdk:"on_offline"`
	Deliver      *bool  `tfsdk:"deliver"`
}

func engineAttribute() schema.SingleNestedAttribute {
	attributes := connectionAttributes()
	attributes["namespace"] = framework.OptionalString("Namespace of the management cluster with Fleet's `Cluster` and `ClusterGroup` objects. Default `fleet-default`.", framework.DNSLabel())
	attributes["offline_after"] = framework.OptionalString("An agent that has not reported for longer counts as offline, such as `1h`. Default `30m`. "+
		"Agents report every 15 minutes unless Fleet is configured otherwise.", framework.Duration())
	attributes["on_offline"] = framework.OptionalString("What an apply does with a deployment on a cluster whose agent is offline. `error` (default): its Bundle is written, and the deployment fails. "+
		"`leave`: it is reported as `WaitApplied`, and Fleet carries it out when the agent is back. `not_ready` and `clusters` of targets are then unknown in plans that change something.",
		stringvalidator.OneOf(string(engine.FailOffline), string(engine.LeaveOffline)))
	attributes["deliver"] = framework.OptionalBool("Whether the Fleet delivers. Default `true`. With `false` the provider delivers to `clusters` by itself: the next apply makes Fleet let go of each deployment, " +
		"with all objects in place, and takes its release over. `engine` can be removed after that.")
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "The management cluster of a [Rancher Fleet](https://fleet.rancher.io) 0.16 or later: how to reach it, in any way that `clusters` has. " +
			"`fleet_cluster_target` then writes Bundles there, and Fleet's agents deploy them. No other cluster is connected to. " +
			"Clusters and groups are Fleet's `Cluster` and `ClusterGroup` objects, unless `clusters` is given: then they are those of `clusters`, by their facts alone. " +
			"See the guides [When one machine is not enough](guides/engine.md) and [Attributes with an engine](guides/engine-attributes.md).",
		Attributes: framework.Provider(attributes),
	}
}

// managementOf leaves Terraform. It is nil for a provider without an engine.
func managementOf(ctx context.Context, value types.Object, diags *diag.Diagnostics) *management {
	switch {
	case value.IsNull():
		return nil
	case framework.IsUnknownInside(ctx, value):
		return &management{unknown: true}
	}
	var (
		model engineModel
		wrong diag.Diagnostics
	)
	framework.AsPlain(ctx, value, &model, &wrong)
	diags.Append(wrong...)
	if wrong.HasError() {
		return nil
	}
	// The schema has checked the form.
	offlineAfter, _ := time.ParseDuration(model.OfflineAfter)
	found := &management{
		connection: model.connection(), namespace: cmp.Or(model.Namespace, target.DefaultNamespace),
		offlineAfter: cmp.Or(offlineAfter, engine.DefaultOfflineAfter), onOffline: engine.OnOffline(model.OnOffline),
		handsBack: model.Deliver != nil && !*model.Deliver,
	}
	if err := found.connection.Validate(); err != nil {
		addMessages(diags, report.InvalidEngineConnection(err))
	}
	return found
}

// newFleetEngine makes what delivers by the Fleet of the management cluster. It connects when it is
// first used.
func newFleetEngine(m *management, parallelism int, charts engine.Charts, masker *diff.Masker) *engine.Engine {
	if m == nil || m.unknown {
		return nil
	}
	connect := func() (engine.Connection, error) { return kube.New(m.connection, masker) }
	return engine.New(engine.Settings{Namespace: m.namespace, OfflineAfter: m.offlineAfter, OnOffline: m.onOffline, Parallelism: parallelism}, connect, charts, masker)
}
