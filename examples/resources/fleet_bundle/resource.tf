# A chart, manifests or both in a folder beside the configuration.
resource "fleet_bundle" "ingress" {
  name              = "ingress"
  directory         = "./ingress"
  default_namespace = "ingress"

  helm = {
    release_name = "ingress"
    values       = yamlencode({ replicas = 2 })
  }
}

# Files written in HCL.
resource "fleet_bundle" "motd" {
  name      = "motd"
  namespace = "motd"

  files = {
    "configmap.yaml" = yamlencode({
      apiVersion = "v1"
      kind       = "ConfigMap"
      metadata   = { name = "motd" }
      data       = { text = "Managed by Terraform." }
    })
  }
}
