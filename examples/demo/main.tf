# One provider block, three clusters, everything that the demo delivers.

terraform {
  required_providers {
    fleet = { source = "agentless-fleet/fleet" }
  }
}

variable "kubeconfig" { type = string }
variable "contexts" { type = list(string) }
variable "repo" { type = string }
variable "edge_env" {
  type    = string
  default = "prod"
}

provider "fleet" {
  owner = "demo"
  clusters = {
    dev  = { config_path = var.kubeconfig, config_context = var.contexts[0], labels = { env = "dev" } }
    main = { config_path = var.kubeconfig, config_context = var.contexts[1], labels = { env = "prod" } }
    edge = { config_path = var.kubeconfig, config_context = var.contexts[2], labels = { env = var.edge_env } }
  }
}

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
