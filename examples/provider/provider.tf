terraform {
  required_providers {
    fleet = {
      source = "agentless-fleet/fleet"
    }
  }
}

variable "git_token" {
  type      = string
  sensitive = true
}

variable "registry_token" {
  type      = string
  sensitive = true
}

variable "age_key" {
  type      = string
  sensitive = true
}

provider "fleet" {
  # Who owns the releases: one name per workspace that shares clusters.
  owner = "platform-prod"

  clusters = {
    dev = {
      config_path    = "~/.kube/config"
      config_context = "kind-dev"
      labels         = { env = "dev" }
    }
    eu-1 = {
      host                   = "https://eu-1.example.com:6443"
      cluster_ca_certificate = file("eu-1-ca.pem")
      token_file             = "/run/secrets/eu-1-token"
      labels                 = { env = "prod", region = "eu" }
    }
  }

  cluster_groups = {
    prod = {
      selector = { match_labels = { env = "prod" } }
      labels   = { tier = "prod" }
    }
  }

  # Credentials by the beginning of a repository's URL; the longest one that fits is used.
  git = {
    "https://github.com/acme/" = { token = var.git_token }
  }

  # The same for Helm repositories, OCI registries and archives.
  registries = {
    "oci://ghcr.io/acme"          = { username = "ci", password = var.registry_token }
    "https://charts.example.com/" = { username = "ci", password = var.registry_token, ca_bundle = file("charts-ca.pem") }
  }

  # Keys for values files and manifests that sops has encrypted.
  sops = { age_keys = [var.age_key] }
}
