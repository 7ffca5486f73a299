# One bundle for every folder below apps/ that holds a fleet.yaml, a chart or manifests.
resource "fleet_gitrepo" "apps" {
  name   = "apps"
  repo   = "https://github.com/acme/fleet"
  branch = "main"
  paths  = ["apps/*"]
}

# A commit instead of a branch: a plan that was saved stays valid whatever is pushed meanwhile.
resource "fleet_gitrepo" "pinned" {
  name     = "pinned"
  repo     = "https://github.com/acme/fleet"
  revision = "8d8c1b0e6e2f4a7d9b3c5f1a2e4d6c8b0a9f7e5d"
  paths    = ["platform"]

  # What its files may make the provider fetch: charts of a Helm repository, and one private git repository.
  sources = ["https://charts.example.com/**", "https://github.com/acme/charts.git"]

  # Laid on every bundle of the repository.
  target_namespace = "platform"
  labels           = { team = "platform" }
}

# Folders that are one bundle each, one of them with options of its own.
resource "fleet_gitrepo" "driven" {
  name = "driven"
  repo = "https://github.com/acme/fleet"

  bundle_paths = [
    { base = "web" },
    { base = "web", options = "staging.yaml" },
  ]
}

# A checkout on the machine that runs Terraform.
resource "fleet_gitrepo" "local" {
  name      = "local"
  directory = "../fleet"
}

# Some of the bundles for a target. `bundles` is sensitive as a whole, and so is this expression.
resource "fleet_cluster_target" "platform" {
  name    = "platform"
  bundles = [{ for name, bundle in fleet_gitrepo.apps.bundles : name => bundle if startswith(bundle.path, "apps/platform-") }]
  targets = [{ cluster_selector = { match_labels = { env = "prod" } } }]
}

# A target for each bundle. Terraform refuses a sensitive value in `for_each`, so `contents` is used there.
resource "fleet_cluster_target" "each" {
  for_each = fleet_gitrepo.driven.contents
  name     = each.key
  bundles  = [{ (each.key) = fleet_gitrepo.driven.bundles[each.key] }]
  targets  = [{ cluster_selector = { match_labels = { env = "dev" } } }]
}

# "web-1.0.0 apps/web ac881d87": the second word is the path.
output "paths" {
  value = { for name, content in fleet_gitrepo.apps.contents : name => split(" ", content)[1] }
}
