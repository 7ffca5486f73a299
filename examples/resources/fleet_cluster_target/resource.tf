resource "fleet_gitrepo" "apps" {
  name   = "apps"
  repo   = "https://github.com/acme/fleet"
  branch = "main"
  paths  = ["apps/*"]
}

resource "fleet_bundle" "ingress" {
  name              = "ingress"
  directory         = "./ingress"
  default_namespace = "ingress"
}

# Which clusters get which bundles. A cluster gets them if any rule matches it; once none does, the
# plan shows its deployments as removed, and apply uninstalls them.
resource "fleet_cluster_target" "prod" {
  name    = "prod"
  bundles = [fleet_gitrepo.apps.bundles, fleet_bundle.ingress.bundles]

  targets = [
    { cluster_selector = { match_labels = { env = "prod" } } },
    { cluster_name = "dev" },
  ]

  wait               = true
  deployment_timeout = "10m"

  timeouts {
    create = "30m"
    update = "30m"
    delete = "15m"
  }
}
