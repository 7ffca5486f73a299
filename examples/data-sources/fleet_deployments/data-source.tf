# How everything is doing, for example in a scheduled run that changes nothing.
resource "fleet_gitrepo" "apps" {
  name      = "apps"
  directory = "../fleet"
}

data "fleet_deployments" "prod" {
  bundles = [fleet_gitrepo.apps.bundles]
  targets = [{ cluster_selector = { match_labels = { env = "prod" } } }]
}

output "ready_clusters" {
  value = data.fleet_deployments.prod.ready_clusters
}

output "troubles" {
  value = { for key, deployment in data.fleet_deployments.prod.deployments : key => deployment.message if deployment.state != "Ready" }
}

# The state is empty, and not `Ready`, if a cluster could not be read.
check "prod_is_ready" {
  assert {
    condition = data.fleet_deployments.prod.state == "Ready"
    error_message = join("\n", [
      for name, cluster in data.fleet_deployments.prod.clusters :
      cluster.reachable ? "${name}: ${cluster.ready} of ${cluster.deployments} deployments are ready. ${cluster.message}" : "${name}: ${cluster.message}"
      if cluster.state != "Ready"
    ])
  }
}
