# What would be deployed, without reaching a cluster: in a test, or to show a reviewer the manifests.
resource "fleet_gitrepo" "apps" {
  name      = "apps"
  directory = "../fleet"
}

data "fleet_render" "prod" {
  bundles = [fleet_gitrepo.apps.bundles]
  targets = [{ cluster_selector = { match_labels = { env = "prod" } } }]

  clusters = {
    eu-1 = { labels = { env = "prod", region = "eu" } }
    us-1 = { labels = { env = "prod", region = "us" } }
  }
}

output "manifests" {
  value = { for key, deployment in data.fleet_render.prod.deployments : key => deployment.manifest }
}
