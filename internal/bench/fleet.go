package main

import (
	"context"
	"fmt"
	"strings"
)

const fleetAddress = "registry.terraform.io/agentless-fleet/fleet"

// fleet is this provider. It waits as the others do, so a started container without a readiness probe
// counts as ready.
type fleet struct {
	terraform terraform
	// byDefault waits by the default of ready_for, and leaves out the probes, which have no such wait.
	byDefault bool
}

func (f fleet) name() string {
	if f.byDefault {
		return "fleet-default"
	}
	return "fleet"
}

func (fleet) waits(t task) bool { return t.wait }

func (f fleet) commands(_ context.Context, t task, s step) ([]command, error) {
	t.work.Unprobed = f.byDefault
	if err := t.work.writeCharts(t.charts(), t.namespace, s.value()); err != nil {
		return nil, err
	}
	targets := s.targets(t.contexts)
	if s == destroy {
		targets = t.contexts
	}
	return f.terraform.commands(t, s, f.configuration(t), map[string]any{"targets": targets})
}

func (f fleet) configuration(t task) string {
	readyFor := `"0s"`
	if f.byDefault {
		readyFor = "null"
	}
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

  ready_for = %s
}
`, t.wait, readyFor)
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
