# A kustomization for each kind of cluster, over one base.
terraform {
  required_providers {
    fleet = {
      source = "agentless-fleet/fleet"
    }
  }
}

variable "kubeconfig" {
  description = "Path of a kubeconfig file."
  type        = string
  default     = "~/.kube/config"
}

variable "contexts" {
  description = "Contexts of two clusters."
  type        = object({ dev = string, prod = string })
}

provider "fleet" {
  owner = "example-kustomize"
  clusters = {
    dev  = { config_path = var.kubeconfig, config_context = var.contexts.dev, labels = { env = "dev" } }
    prod = { config_path = var.kubeconfig, config_context = var.contexts.prod, labels = { env = "prod" } }
  }
}

resource "fleet_gitrepo" "app" {
  name      = "example"
  directory = "${path.module}/app"
}

resource "fleet_cluster_target" "app" {
  name    = "app"
  bundles = [fleet_gitrepo.app.bundles]
  targets = [{ all = true }]
}

output "deployments" {
  value = keys(fleet_cluster_target.app.deployments)
}
