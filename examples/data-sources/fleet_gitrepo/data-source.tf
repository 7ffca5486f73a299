# Read while planning and not again when a saved plan is applied: what was
# planned is what runs, although the branch moves on.
data "fleet_gitrepo" "apps" {
  name   = "apps"
  repo   = "https://github.com/acme/fleet"
  branch = "main"
  paths  = ["apps/*"]
}

resource "fleet_cluster_target" "prod" {
  name    = "prod"
  bundles = [data.fleet_gitrepo.apps.bundles]
  targets = [{ cluster_selector = { match_labels = { env = "prod" } } }]
}

# What each bundle is made of, to compare in CI.
output "definitions" {
  value = data.fleet_gitrepo.apps.definitions
}
