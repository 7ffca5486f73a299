terraform {
  required_providers {
    fleet = { source = "agentless-fleet/fleet" }
  }
}

provider "fleet" {
  owner = "platform-prod"
  clusters = {
    eu-1 = { config_path = "~/.kube/config", config_context = "eu-1", labels = { env = "prod" } }
  }
}

data "fleet_cluster" "eu_1" {
  name = "eu-1"
}

# A warning of each plan while the cluster lacks what the bundles need.
check "eu_1_has_gateways" {
  assert {
    condition     = data.fleet_cluster.eu_1.reachable && contains(coalesce(data.fleet_cluster.eu_1.api_versions, []), "gateway.networking.k8s.io/v1")
    error_message = "eu-1 serves no gateways, or cannot be read: ${coalesce(data.fleet_cluster.eu_1.reason, data.fleet_cluster.eu_1.kube_version)}."
  }
}
