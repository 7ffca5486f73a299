package main

import (
	"context"
	"fmt"
	"strings"
)

const fleetAddress = "registry.terraform.io/agentless-fleet/fleet"

// fleet is this provider.
type fleet struct{ terraform terraform }

func (fleet) name() string { return "fleet" }

func (fleet) waits(t task) bool { return t.wait }

func (f fleet) commands(_ context.Context, t task, s step) ([]command, error) {
	if err := t.work.writeCharts(t.charts(), t.namespace, s.value()); err != nil {
		return nil, err
	}
	targets := s.targets(t.contexts)
	if s == destroy {
		targets = t.contexts
	}
	return f.terraform.commands(t, s, fleetConfiguration(t), map[string]any{"targets": targets})
}

func fleetConfiguration(t task) string {
	var clusters strings.Builder
	for _, name := range t.contexts {
		fmt.Fprintf(&clusters, "    %q = { config_path = %q, config_context = %q }\n", name, t.kubeconfig, name)
	}
	return fleetProvider(clustersBlock(clusters.String()), t.charts()) + fmt.Sprintf(`
variable "targets" { type = list(string) }

resource "fleet_cluster_target" "all" {
  name    = "all"
  bundles = [fleet_gitrepo.all.bundles]
  targets = [for name in var.targets : { cluster_name = name }]
  wait    = %t
}
`, t.wait)
}

// clustersBlock returns the clusters attribute of the provider with these entries.
func clustersBlock(entries string) string { return "  clusters = {\n" + entries + "  }\n" }

// fleetProvider returns the beginning of every configuration of this provider: its connections and
// the charts.
func fleetProvider(connections, charts string) string {
	return requireProvider("fleet", fleetAddress) + fmt.Sprintf(`
provider "fleet" {
  owner = "bench"
%s}

resource "fleet_gitrepo" "all" {
  name      = "all"
  directory = %q
  paths     = ["*"]
}
`, connections, charts)
}
