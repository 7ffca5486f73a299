# A password that is in no plan and no state: the configuration passes it to the releases with each write.
terraform {
  required_version = ">= 1.11"
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

variable "password" {
  description = "The password. An ephemeral resource, such as one of Vault, gives it as well."
  type        = string
  ephemeral   = true
  default     = "change-me-soon"
}

variable "password_version" {
  description = "Another version deploys the password again. Change both together."
  type        = number
  default     = 1
}

provider "fleet" {
  owner = "example-write-only"
  clusters = {
    dev  = { config_path = var.kubeconfig, config_context = var.contexts.dev, labels = { env = "dev" } }
    prod = { config_path = var.kubeconfig, config_context = var.contexts.prod, labels = { env = "prod" } }
  }
}

# A chart takes the password from its values.
resource "fleet_bundle" "app" {
  name              = "app"
  default_namespace = "example-write-only"

  files = {
    "Chart.yaml"         = yamlencode({ apiVersion = "v2", name = "app", version = "1.0.0" })
    "templates/app.yaml" = <<-YAML
      apiVersion: v1
      kind: Secret
      metadata:
        name: app
      stringData:
        password: {{ required "give a password" .Values.password | quote }}
      ---
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: app
      data:
        length: {{ len .Values.password | quote }}
    YAML
  }
}

# Plain manifests are joined by one that is secret as a whole.
resource "fleet_bundle" "settings" {
  name              = "settings"
  default_namespace = "example-write-only"

  files = {
    "settings.yaml" = <<-YAML
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: settings
      data:
        color: green
    YAML
  }
}

resource "fleet_cluster_target" "all" {
  name    = "all"
  bundles = [fleet_bundle.app.bundles, fleet_bundle.settings.bundles]
  targets = [{ all = true }]

  values_wo         = { app = { password = var.password } }
  values_wo_version = { app = var.password_version }

  files_wo = {
    settings = {
      "secrets/db.yaml" = yamlencode({
        apiVersion = "v1"
        kind       = "Secret"
        metadata   = { name = "db" }
        stringData = { password = var.password }
      })
    }
  }
  files_wo_version = { settings = var.password_version }
}

output "deployments" {
  value = keys(fleet_cluster_target.all.deployments)
}
