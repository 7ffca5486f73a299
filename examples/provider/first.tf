terraform {
  required_providers {
    fleet = {
      source  = "agentless-fleet/fleet"
      version = "~> 0.1.0"
    }
  }
}

provider "fleet" {
  owner = "first"
  clusters = {
    dev  = { config_path = "~/.kube/config", config_context = "kind-dev", labels = { env = "dev" } }
    prod = { config_path = "~/.kube/config", config_context = "kind-prod", labels = { env = "prod" } }
  }
}

# In place of `directory`: repo = "https://github.com/acme/fleet" and branch = "main".
resource "fleet_gitrepo" "apps" {
  name      = "apps"
  directory = "${path.module}/apps"
}

resource "fleet_cluster_target" "all" {
  name    = "all"
  bundles = [fleet_gitrepo.apps.bundles]
  targets = [{ all = true }]
}
