# How everything is doing, for example in a scheduled run that changes nothing.
resource "fleet_gitrepo" "apps" {
  name      = "apps"
  directory = "../fleet"
}

data "fleet_deployments" "prod" {
  bundles = [fleet_gitrepo.apps.bundles]
  targets = [{ cluster_selector = { match_labels = { env = "prod" } } }]
}

output "troubles" {
  value = { for key, deployment in data.fleet_deployments.prod.deployments : key => deployment.message if deployment.state != "Ready" }
}
