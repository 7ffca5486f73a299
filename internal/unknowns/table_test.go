//go:build !race

package unknowns_test

import (
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/providertest"
)

// sample is a complete and valid configuration.
type sample struct {
	name             string
	resource         string
	provider, config tftypes.Value
	// state is the state after an apply of the sample, null if an apply needs no cluster.
	state providertest.Resource
	// ofProvider is true if the attributes of the provider are varied as well.
	ofProvider bool
	// createOnly saves time if another sample is also varied as an update.
	createOnly bool
	// shared plans all variations of a configuration. It is nil if each variation needs a provider
	// of its own.
	shared *providertest.Client
	// unknown is the table: what may be unknown if the attribute that matches the expression is
	// unknown. The first match applies; without a match, nothing may be unknown.
	unknown []allowed
}

// allowed is a row of the table. unknown has beginnings of paths; "$1" in them is the match of the
// expression.
type allowed struct {
	when, unknown string
	// onlyNew limits the row to new deployments.
	onlyNew bool
	// onlyOld limits the row to existing deployments.
	onlyOld bool
	// warns is in one warning of the plan then.
	warns string
}

func targetTable() []allowed {
	const all = "clusters deployments not_ready objects planned records"
	return []allowed{
		{when: `name`, unknown: all, warns: "the target's name"},
		{when: `targets.*`, unknown: all, warns: "the target's name or rules"},
		{when: `bundles(\[0\])?`, unknown: all, warns: "the bundles"},
		{when: `bundles\[0\]\["one"\](\.digest)?`, unknown: all, warns: "the bundle one"},
		{when: `bundles\[0\]\["one"\]\.descriptor`, unknown: all, warns: "the content of bundle one"},
		{when: `plan_objects`, unknown: "objects"},
		{when: `wait`, unknown: `clusters["a"] not_ready planned`, onlyNew: true},
		{when: `adoption_key`, unknown: `planned records`, onlyOld: true},
	}
}

func clustersTable() []allowed {
	const all = "clusters deployments not_ready objects planned records"
	return []allowed{
		{when: `clusters`, unknown: all, warns: "the provider's clusters"},
		{when: `cluster_groups.*`, unknown: all, warns: "cluster_groups"},
		{when: `(fleet_)?policies.*`, unknown: all, warns: "the provider's policies"},
		{when: `(windows|fleet_schedules|windows_override).*`, unknown: all, warns: "windows"},
		{when: `clusters\["(.)"\](?:\.(?:labels.*|display_name|paused|namespace|annotations.*|template_values|kube_version|api_versions.*))?`, unknown: all, warns: "cluster $1"},
	}
}
