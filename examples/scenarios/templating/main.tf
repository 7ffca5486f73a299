# Values made of facts about the cluster: its name, its labels and values of its own.
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
  owner = "example-templating"
  clusters = {
    dev  = { config_path = var.kubeconfig, config_context = var.contexts.dev, labels = { env = "dev" }, template_values = jsonencode({ size = 1 }) }
    prod = { config_path = var.kubeconfig, config_context = var.contexts.prod, labels = { env = "prod", region = "eu" }, template_values = jsonencode({ size = 3 }) }
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
