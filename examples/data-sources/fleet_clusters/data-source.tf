terraform {
  required_providers {
    fleet = { source = "agentless-fleet/fleet" }
  }
}

# The clusters of a Fleet. The provider needs an engine: the way to the management cluster.
provider "fleet" {
  owner = "platform-prod"
  engine = {
    config_path    = "~/.kube/config"
    config_context = "mgmt"
    namespace      = "fleet-default"
  }
}

data "fleet_clusters" "all" {}

output "offline" {
  value = [for name, cluster in data.fleet_clusters.all.clusters : name if cluster.offline]
}

# Another provider takes the clusters and groups as its configuration, for example to render
# bundles for them. A saved plan then uses the labels and template values that it was made with.
provider "fleet" {
  alias          = "pinned"
  owner          = "platform-prod"
  clusters       = data.fleet_clusters.all.clusters
  cluster_groups = data.fleet_clusters.all.cluster_groups
}
