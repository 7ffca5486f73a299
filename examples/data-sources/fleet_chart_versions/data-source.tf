terraform {
  required_providers {
    fleet = { source = "agentless-fleet/fleet" }
  }
}

provider "fleet" {
  owner = "platform-prod"
}

data "fleet_chart_versions" "ingress" {
  repo    = "https://kubernetes.github.io/ingress-nginx"
  name    = "ingress-nginx"
  version = "~4.11"
}

# A warning of each plan until the constraint allows the newest version.
check "ingress_is_current" {
  assert {
    condition     = data.fleet_chart_versions.ingress.newest == data.fleet_chart_versions.ingress.allowed
    error_message = "ingress-nginx ${data.fleet_chart_versions.ingress.newest} is available."
  }
}
