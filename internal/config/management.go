package config

import (
	"cmp"
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleet"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Management is the management cluster of a Fleet, in plain values.
type Management struct {
	Connection connect.Connection
	// Unknown is set if a part of the engine block is not known before an apply.
	Unknown bool
	// Namespace is the namespace of the Cluster objects.
	Namespace    string
	OfflineAfter time.Duration
	OnOffline    fleet.OnOffline
	// HandsBack is set if the Fleet hands back its deployments.
	HandsBack bool
}

// Delivers reports whether the Fleet delivers. As long as that is unknown it counts as delivering.
func (m *Management) Delivers() bool { return m != nil && !m.HandsBack }

// LeavesOffline reports whether an apply can succeed before all deployments are ready.
func (m *Management) LeavesOffline() bool {
	return m != nil && m.OnOffline == fleet.LeaveOffline
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
		stringvalidator.OneOf(string(fleet.FailOffline), string(fleet.LeaveOffline)))
	attributes["deliver"] = framework.OptionalBool("Whether the Fleet delivers. Default `true`. With `false` the provider delivers to `clusters` by itself: the next apply makes Fleet let go of each deployment, " +
		"with all objects in place, and takes its release over. `engine` can be removed after that.")
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "The management cluster of a [Rancher Fleet](https://fleet.rancher.io), from 0.16 on: how to reach it, in any way that `clusters` has. " +
			"`fleet_cluster_target` then writes Bundles there, and Fleet's agents deploy them. No other cluster is connected to. " +
			"Clusters and groups are Fleet's `Cluster` and `ClusterGroup` objects, unless `clusters` is given: then they are those of `clusters`, by their facts alone. " +
			"See the guides [When one machine is not enough](guides/engine.md) and [Attributes with an engine](guides/engine-attributes.md).",
		Attributes: framework.Provider(attributes),
	}
}

// managementOf returns nil for a provider without an engine.
func managementOf(ctx context.Context, value types.Object, diags *diag.Diagnostics) *Management {
	switch {
	case value.IsNull():
		return nil
	case framework.IsUnknownInside(ctx, value):
		return &Management{Unknown: true}
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
	found := &Management{
		Connection: model.connection(), Namespace: cmp.Or(model.Namespace, target.DefaultNamespace),
		OfflineAfter: cmp.Or(offlineAfter, fleet.DefaultOfflineAfter), OnOffline: fleet.OnOffline(model.OnOffline),
		HandsBack: model.Deliver != nil && !*model.Deliver,
	}
	if err := cmp.Or(found.Connection.Require(), found.Connection.Validate()); err != nil {
		diagnostics.Add(diags, report.InvalidEngineConnection(err))
	}
	return found
}
