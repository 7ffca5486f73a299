# Everything that the demo delivers. The provider block is in a file of its own: with clusters in
# direct/provider.tf, with a Rancher Fleet as engine in engine/provider.tf.

terraform {
  required_providers {
    fleet = { source = "agentless-fleet/fleet" }
  }
}

variable "repo" { type = string }

# A git repository with two bundles: a Helm chart with values per environment,
# and plain manifests.
resource "fleet_gitrepo" "apps" {
  name   = "apps"
  repo   = var.repo
  branch = "main"
  paths  = ["apps/*"]
}

# A bundle described here, from a folder beside this file.
resource "fleet_bundle" "banner" {
  name              = "banner"
  directory         = "banner"
  default_namespace = "fleet-demo"
}

# Which clusters get them: a rule over labels.
resource "fleet_cluster_target" "all" {
  name    = "all"
  bundles = [fleet_gitrepo.apps.bundles, fleet_bundle.banner.bundles]
  targets = [{
    cluster_selector = { match_expressions = [{ key = "env", operator = "In", values = ["dev", "prod"] }] }
  }]
}

output "not_ready" { value = fleet_cluster_target.all.not_ready }
