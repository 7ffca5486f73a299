# Values that stand on the clusters, in a ConfigMap or a Secret: each cluster keeps its own, and a change of
# one is a change that the next plan shows. Here the first target puts them there; mostly something else does.
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
  owner = "example-values-from"
  clusters = {
    dev  = { config_path = var.kubeconfig, config_context = var.contexts.dev, labels = { env = "dev" } }
    prod = { config_path = var.kubeconfig, config_context = var.contexts.prod, labels = { env = "prod" } }
  }
}

resource "fleet_bundle" "settings" {
  name              = "settings"
  default_namespace = "example-values-from"

  files = {
    "Chart.yaml"              = yamlencode({ apiVersion = "v2", name = "settings", version = "1.0.0" })
    "templates/settings.yaml" = <<-YAML
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: settings
      data:
        values.yaml: |
          color: {{ .Values.color }}
    YAML
  }
  helm = { values = yamlencode({ color = "green" }) }

  target_customizations = [{
    cluster_selector = { match_labels = { env = "prod" } }
    helm             = { values = yamlencode({ color = "red" }) }
  }]
}

resource "fleet_cluster_target" "settings" {
  name    = "settings"
  bundles = [fleet_bundle.settings.bundles]
  targets = [{ all = true }]
}

resource "fleet_bundle" "app" {
  name              = "app"
  default_namespace = "example-values-from"

  files = {
    "Chart.yaml"         = yamlencode({ apiVersion = "v2", name = "app", version = "1.0.0" })
    "templates/app.yaml" = <<-YAML
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: app
      data:
        color: {{ .Values.color }}
    YAML
  }
  helm = {
    values_from = [{ config_map_key_ref = { name = "settings" } }]
  }
}

resource "fleet_cluster_target" "app" {
  name    = "app"
  bundles = [fleet_bundle.app.bundles]
  targets = [{ all = true }]

  depends_on = [fleet_cluster_target.settings]
}

output "deployments" {
  value = keys(fleet_cluster_target.app.deployments)
}
