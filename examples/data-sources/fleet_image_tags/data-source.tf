terraform {
  required_providers {
    fleet = { source = "agentless-fleet/fleet" }
  }
}

provider "fleet" {
  owner      = "platform-prod"
  registries = { "oci://ghcr.io/acme" = { username = "ci", password = var.registry_password } }
}

variable "registry_password" {
  type      = string
  sensitive = true
}

# The newest patch release.
data "fleet_image_tags" "web" {
  image  = "ghcr.io/acme/web"
  policy = { semver = { range = "~1.4" } }
}

# The newest build of main: main-4f2a91c-1718200000.
data "fleet_image_tags" "next" {
  image  = "ghcr.io/acme/web"
  filter = "^main-[0-9a-f]+-([0-9]+)$"
  policy = { numerical = {} }
}

resource "fleet_bundle" "web" {
  name              = "web"
  default_namespace = "web"
  chart             = { repo = "https://charts.example.com", name = "web", version = "2.1.0" }
  helm              = { values = yamlencode({ image = data.fleet_image_tags.web.reference }) }
}
