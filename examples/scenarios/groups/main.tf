# Clusters are chosen by their groups: prod is every cluster with env=prod, and what the rule of a
# target or a targetCustomization says of a group holds for all of them.
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
  owner = "example-groups"
  clusters = {
    dev  = { config_path = var.kubeconfig, config_context = var.contexts.dev, labels = { env = "dev" } }
    prod = { config_path = var.kubeconfig, config_context = var.contexts.prod, labels = { env = "prod" } }
  }
  cluster_groups = {
    everywhere = { selector = { all = true } }
    production = { selector = { match_labels = { env = "prod" } }, labels = { tier = "critical" } }
  }
}

resource "fleet_bundle" "notice" {
  name      = "notice"
  namespace = "example-groups"

  files = {
    "Chart.yaml"            = yamlencode({ apiVersion = "v2", name = "notice", version = "1.0.0" })
    "templates/notice.yaml" = <<-YAML
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: notice
      data:
        text: {{ .Values.text }}
    YAML
  }
  helm = { values = yamlencode({ text = "You may break this." }) }

  target_customizations = [{
    cluster_group_selector = { match_labels = { tier = "critical" } }
    helm                   = { values = yamlencode({ text = "Handle with care." }) }
  }]
}

resource "fleet_cluster_target" "notice" {
  name    = "notice"
  bundles = [fleet_bundle.notice.bundles]
  targets = [{ cluster_group = "everywhere" }]
}

output "deployments" {
  value = keys(fleet_cluster_target.notice.deployments)
}
