# Values and manifests that sops (https://github.com/getsops/sops) has encrypted for an age key. They are
# decrypted in memory only: state, plan and digests have the encrypted text.
#
# To try it with a key of your own:
#   age-keygen -o key.txt
#   echo 'color: green' | sops encrypt --age "$(age-keygen -y key.txt)" --filename-override color.yaml > app/color.yaml
#   export TF_VAR_age_key="$(grep AGE-SECRET-KEY key.txt)"
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

variable "age_key" {
  description = "The age identity that decrypts app/color.yaml."
  type        = string
  sensitive   = true
}

provider "fleet" {
  owner = "example-encrypted"
  clusters = {
    dev  = { config_path = var.kubeconfig, config_context = var.contexts.dev, labels = { env = "dev" } }
    prod = { config_path = var.kubeconfig, config_context = var.contexts.prod, labels = { env = "prod" } }
  }
  sops = { age_keys = [var.age_key] }
}

resource "fleet_bundle" "app" {
  name              = "app"
  default_namespace = "example-encrypted"
  directory         = "${path.module}/app"

  helm = {
    values_files = ["color.yaml"]
  }

  target_customizations = [{
    cluster_selector = { match_labels = { env = "prod" } }
    helm             = { values = yamlencode({ color = "red" }) }
  }]
}

resource "fleet_cluster_target" "app" {
  name    = "app"
  bundles = [fleet_bundle.app.bundles]
  targets = [{ all = true }]
}

output "deployments" {
  value = keys(fleet_cluster_target.app.deployments)
}
