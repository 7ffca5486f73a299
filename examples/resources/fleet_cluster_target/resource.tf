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

# A deployment that fails long after its apply is no change. A plan warns of it, and this
# check says so in every run.
check "prod_is_ready" {
  assert {
    condition     = length(fleet_cluster_target.prod.not_ready) == 0
    error_message = join("\n", [for key, state in fleet_cluster_target.prod.not_ready : "${key} is ${state}"])
  }
}
